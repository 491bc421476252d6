import Archive
import Catalog
import ObjectStore
import Synchronization
import Terminal
import TestRecordings
import Testing
import Threads

@testable import Library

/// Changes of a session in every archive of a site that has it.
@Suite struct SiteChangesTests {
    private let east = SmallArchive()
    private let west = SmallArchive()
    private let lines = Lines()

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private func collector(_ name: String, _ archive: String) -> SiteCollector {
        SiteCollector(
            archive: "id-\(name)", name: name, heardSeconds: 1, runningSeconds: 1,
            report: SiteReport(
                name: name, version: "0.1.0", machine: "\(name).example", listen: "",
                archive: archive, release: "local"))
    }

    /// - Parameter refusing: directories that are not changed.
    private func changes(refusing: Set<String> = []) throws -> SiteChanges {
        let places = [("east", east.layout.root), ("west", west.layout.root)]
        let archives = SiteArchives(
            places.map { collector($0.0, $0.1) }, endpoint: nil, isForChanges: true
        ) { path in places.first { $0.1 == path }.map { "id-\($0.0)" } }
        return try SiteChanges(
            archives, site: nil, shutdown: Shutdown(),
            apply: { edit, session, layout in
                if refusing.contains(layout.root) { throw Failure("no: \(session)") }
                _ = try RecordingLibrary(layout.root) { _ in }.apply(edit, to: session)
            }, complain: { [lines] line in lines.all.withLock { $0.append(line) } })
    }

    private func names(_ session: String) throws -> [String?] {
        try [east, west].map { try SessionNotes.read(session, in: $0.layout).name }
    }

    @Test func `a change goes to each archive of the session, under its name there`() throws {
        try east.addSession("one", segments: 1)
        try west.addSession("one-west", segments: 1)
        try changes().change(SessionEdit(name: "Premiere"), of: ["one", "one-west", "other"])
        #expect(try SessionNotes.read("one", in: east.layout).name == "Premiere")
        #expect(try SessionNotes.read("one-west", in: west.layout).name == "Premiere")
        #expect(!FileSystem.exists(west.layout.session("one")))
    }

    @Test func `an archive that refuses a change is an error, and the others have it`() throws {
        for archive in [east, west] { try archive.addSession("one", segments: 1) }
        let failure = #expect(throws: Failure.self) {
            try changes(refusing: [east.layout.root]).change(
                SessionEdit(name: "Premiere"), of: ["one"])
        }
        #expect(failure?.description == "no: one")
        #expect(try names("one") == [nil, "Premiere"])
    }

    @Test func `a mark that one archive has is set, with a line for the others`() throws {
        for archive in [east, west] { try archive.addSession("one", segments: 1) }
        let mark = ViewerMark(
            id: "0123456789abcdef", atNanoseconds: 5, text: "goal", source: nil)
        #expect(try changes(refusing: [west.layout.root]).set(mark, of: "one") == mark)
        #expect(lines.all.withLock { $0 } == ["no: one"])
        let marks = try RecordingLibrary(east.layout.root) { _ in }.marks("one").marks
        #expect(marks.map(\.id) == [mark.id])
        let all: Set = [east.layout.root, west.layout.root]
        #expect(throws: Failure.self) { try changes(refusing: all).set(mark, of: "one") }
    }

    @Test func `a session in no local archive is an error with a remedy`() throws {
        let failure = #expect(throws: Failure.self) {
            try changes().change(SessionEdit(isProtected: true), of: ["one"])
        }
        #expect(failure?.description.hasPrefix("cannot change one: ") == true)
        #expect(failure?.description.contains("--viewer-url") == true)
    }

    /// `east` in a directory, and `west` behind a viewer that does not answer.
    private func changesWithoutWest() throws -> SiteChanges {
        var away = collector("west", "/nowhere")
        away.report?.viewer = "https://127.0.0.1:1"
        let root = east.layout.root
        let archives = SiteArchives(
            [collector("east", root), away], endpoint: nil, readsViewers: true, isForChanges: true
        ) { $0 == root ? "id-east" : nil }
        let secret = try #require(SiteSecret(text: String(repeating: "s", count: 44)))
        return try SiteChanges(
            archives, site: ViewerAccess(tokens: SiteTokens(secret), authorities: nil),
            namesAddresses: false, shutdown: Shutdown(),
            apply: { edit, session, layout in
                _ = try RecordingLibrary(layout.root) { _ in }.apply(edit, to: session)
            }, complain: { [lines] line in lines.all.withLock { $0.append(line) } })
    }

    @Test func `an archive that does not answer may have the session, so a change fails`() throws {
        try east.addSession("one", segments: 1)
        let failure = #expect(throws: Failure.self) {
            try changesWithoutWest().change(SessionEdit(name: "Premiere"), of: ["one"])
        }
        #expect(failure?.description.hasPrefix("west: ") == true, "\(failure?.description ?? "")")
        #expect(failure?.description.contains("\n") == false)
        #expect(try SessionNotes.read("one", in: east.layout).name == "Premiere")
    }

    @Test func `a mark is set without an archive that does not answer, with a line`() throws {
        try east.addSession("one", segments: 1)
        let mark = ViewerMark(
            id: "0123456789abcdef", atNanoseconds: 5, text: "goal", source: nil)
        #expect(try changesWithoutWest().set(mark, of: "one") == mark)
        let said = lines.all.withLock { $0 }
        #expect(said.count == 1 && said[0].hasPrefix("west: "), "\(said)")
    }
}
