import Foundation
import HTTPTypes
import TestAccounts
import Testing

@testable import Accounts
@testable import ViewerCore

/// Valid walls, and the accounts that see them.
@Suite struct WallTests {
    private func wall(
        _ name: String = "Entrance", sources: [String] = ["door", "hall"], tiles: Int? = nil,
        turnSeconds: Int? = nil, owner: String = "vera", isShared: Bool = false
    ) -> Wall {
        Wall(
            id: "0123456789abcdef", name: name, sources: sources, tiles: tiles,
            turnSeconds: turnSeconds, owner: owner, isShared: isShared)
    }

    @Test func `a wall has a name of one line, distinct sources, and a size`() {
        #expect(wall().flaw == nil)
        #expect(wall("Häuser, 3. Stock", tiles: 4, turnSeconds: 5).flaw == nil)
        for name in ["", " a", "a ", "a\nb", "a\u{2028}b", String(repeating: "x", count: 65)] {
            #expect(wall(name).flaw?.contains("'name'") == true, "\(name)")
        }
        for sources in [[], ["a", "a"], ["../a"], (0...64).map { "s\($0)" }] {
            #expect(wall(sources: sources).flaw?.contains("'sources'") == true, "\(sources)")
        }
        #expect(wall(tiles: 0).flaw != nil && wall(tiles: 65).flaw != nil)
        #expect(wall(turnSeconds: 4).flaw != nil && wall(turnSeconds: 3_601).flaw != nil)
    }

    @Test func `others see a shared wall with the sources that they may read`() {
        let door = Rights(role: .viewer, sources: .named(["door"]))
        let all = Rights(role: .viewer, sources: .all)
        #expect(wall().seen(by: .user("vera"), all) == wall())
        #expect(wall().seen(by: .user("otto"), .everything) == nil)
        #expect(wall().seen(by: .link, .everything) == nil)
        let shared = wall(isShared: true)
        #expect(shared.seen(by: .user("otto"), door)?.sources == ["door"])
        let yard = Rights(role: .viewer, sources: .named(["yard"]))
        #expect(shared.seen(by: .user("otto"), yard) == nil)
        // Rights that were taken away count for one's own, too.
        #expect(wall().seen(by: .user("vera"), door)?.sources == ["door"])
    }

    @Test func `its owner changes a wall, and operators of all its sources one that is shared`() {
        let door = Rights(role: .operator, sources: .named(["door"]))
        let viewer = Rights(role: .viewer, sources: .all)
        #expect(wall().mayBeChanged(by: .user("vera"), viewer))
        #expect(!wall().mayBeChanged(by: .user("otto"), .everything))
        let shared = wall(isShared: true)
        #expect(shared.mayBeChanged(by: .user("otto"), .everything))
        #expect(!shared.mayBeChanged(by: .user("otto"), viewer))
        #expect(!shared.mayBeChanged(by: .user("otto"), door))
        // It would lose the sources that its owner does not see any more.
        #expect(!wall().mayBeChanged(by: .user("vera"), door))
    }
}

/// The file of the walls.
@Suite struct WallStoreTests {
    private let place = AccessPlace()
    private let lines = ReportedLines()

    private func store(_ directory: String? = nil) -> WallStore {
        WallStore(directory: directory ?? place.directory) { [lines] in lines.add($0) }
    }

    private var path: String { "\(place.directory)/\(WallStore.fileName)" }

    private func wall(_ number: Int, owner: String = "vera") -> Wall {
        let id = String(number, radix: 16)
        return Wall(
            id: String(repeating: "0", count: 16 - id.count) + id, name: "Wall \(number)",
            sources: ["door"], tiles: nil, turnSeconds: nil, owner: owner, isShared: false)
    }

    @Test func `a saved wall is read by the next viewer, and the file is private`() throws {
        #expect(try store().walls() == [])
        let saved = wall(1)
        try store().change { $0.append(saved) }
        #expect(try store().walls() == [saved])
        #expect(place.mode(path) == 0o600)
        try store().change { $0.removeAll() }
        #expect(try store().walls() == [])
        #expect(try place.names() == [WallStore.fileName])
    }

    @Test func `a missing directory is created`() throws {
        let directory = "\(place.directory)/state/viewer"
        let saved = wall(1)
        try store(directory).change { $0.append(saved) }
        #expect(try store(directory).walls() == [saved])
        #expect(throws: Problem.self) {
            try WallStore(directory: nil) { _ in }.change { $0.append(saved) }
        }
    }

    @Test func `a refused change changes nothing, and walls are limited per owner`() throws {
        let store = store()
        let first = wall(0)
        try store.change { $0.append(first) }
        #expect(throws: Problem.self) {
            try store.change { walls throws(Problem) in
                walls = []
                throw Problem(.notFound, "no")
            }
        }
        #expect(try store.walls() == [first])
        let many = (1..<WallStore.maximumOfOwner).map { wall($0) }
        try store.change { $0 += many }
        let tooMuch = wall(500)
        #expect(throws: Problem.self) { try store.change { $0.append(tooMuch) } }
        let other = wall(501, owner: "otto")
        try store.change { $0.append(other) }
        #expect(try store.walls().count == WallStore.maximumOfOwner + 1)
    }

    @Test(arguments: [
        "", "[]", #"{"version": 2, "walls": []}"#,
        #"{"version": 1, "walls": [{"id": "1", "name": "", "sources": [], "owner": "", "isShared": false}]}"#,
    ])
    func `an unknown file is not overwritten`(text: String) throws {
        try place.write(text, to: path)
        let saved = wall(1)
        #expect(throws: Problem.self) { try store().walls() }
        #expect(throws: Problem.self) { try store().change { $0.append(saved) } }
        #expect(try place.text(path) == text)
        #expect(lines.all.allSatisfy { $0.contains(path) } && !lines.all.isEmpty)
    }
}
