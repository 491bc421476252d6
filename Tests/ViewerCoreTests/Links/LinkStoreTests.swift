import Foundation
import TestAccounts
import Testing

@testable import ViewerCore

/// Links that were made, and that have ended.
@Suite struct LinkStoreTests {
    private let place = AccessPlace()
    private let lines = ReportedLines()
    private static let address =
        "/api/v1/sessions/s/sources/door/media.mp4?from=1&expires=1800003600&signature=abc"

    private func store() -> LinkStore {
        LinkStore(directory: place.directory) { [lines] in lines.add($0) }
    }

    private var path: String { "\(place.directory)/\(LinkStore.fileName)" }

    private func link(
        _ address: String = address, owner: String = "vera", expires seconds: Int64 = 3_600
    ) -> MadeLink {
        MadeLink(
            id: MadeLink.id(of: address), owner: owner, address: "/api/v1/…",
            madeSeconds: AccessSample.now, expiresSeconds: AccessSample.now + seconds,
            hasEnded: false)
    }

    @Test func `a link is listed for its account until it expires`() throws {
        try store().add(link(), now: AccessSample.time(0))
        #expect(
            try store().links(of: "vera", now: AccessSample.time(3_599)).map(\.id) == [link().id])
        #expect(try store().links(of: "otto", now: AccessSample.time(0)) == [])
        #expect(try store().links(of: "vera", now: AccessSample.time(3_600)) == [])
        // The signature is not stored.
        #expect(!(try place.text(path)).contains("signature"))
        #expect(place.mode(path) == 0o600)
    }

    @Test func `an ended link is refused at once, by other processes within a second`() throws {
        let (here, elsewhere) = (store(), store())
        try here.add(link(), now: AccessSample.time(0))
        try here.check(Self.address, now: AccessSample.time(0))
        try elsewhere.check(Self.address, now: AccessSample.time(0))
        #expect(throws: Problem.self) {
            try here.end(link().id, of: "otto", now: AccessSample.time(0))
        }
        try here.check(Self.address, now: AccessSample.time(0))
        try here.end(link().id, of: "vera", now: AccessSample.time(0))
        #expect(throws: Problem.self) {
            try here.check(Self.address, now: AccessSample.time(0))
        }
        #expect(throws: Problem.self) {
            try elsewhere.check(Self.address, now: AccessSample.time(1))
        }
        try here.check("\(Self.address)x", now: AccessSample.time(1))
        #expect(try here.links(of: "vera", now: AccessSample.time(1)) == [])
    }

    @Test func `links per account are limited, and expired ones are replaced`() throws {
        let store = store()
        for number in 0..<LinkStore.maximumOfOwner {
            try store.add(
                link("\(Self.address)\(number)", expires: 60), now: AccessSample.time(0))
        }
        #expect(throws: Problem.self) { try store.add(link(), now: AccessSample.time(0)) }
        try store.add(link(owner: "otto"), now: AccessSample.time(0))
        try store.add(link(), now: AccessSample.time(60))
        #expect(try store.links(of: "vera", now: AccessSample.time(60)).count == 1)
    }

    @Test func `while the file cannot be read, no link opens, and it is not written over`() throws {
        try place.write("nothing", to: path)
        #expect(throws: Problem.self) {
            try store().check(Self.address, now: AccessSample.time(0))
        }
        #expect(throws: Problem.self) { try store().add(link(), now: AccessSample.time(0)) }
        #expect(try place.text(path) == "nothing")
        #expect(!lines.all.isEmpty)
    }
}
