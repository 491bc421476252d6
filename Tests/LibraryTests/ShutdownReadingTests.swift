import Archive
import TestRecordings
import Testing
import Threads

@testable import Library
@testable import Recordings

/// Reading while a program ends.
@Suite struct ShutdownReadingTests {
    @Test func `files of an archive are not read any more once the program ends`() throws {
        let archive = SmallArchive()
        try archive.addSession("s", segments: 1)
        try archive.append(
            Ledger.line(LedgerEntry(kind: .goodbye, at: SmallArchive.zero)), session: "s")
        let shutdown = Shutdown()
        let store = DirectoryStore(archive.layout, shutdown: shutdown)
        let source = SourceKey(session: "s", source: "camera")
        #expect(try Ledger.Contents(of: source, in: store).entries.count == 1)
        let file = try store.open(.ledger(source))
        shutdown.begin()
        for read in [
            { _ = try file.read(at: 0, count: 1) },
            { _ = try Ledger.Contents(of: source, in: store) },
            { _ = try SessionManifest("s", in: store) },
        ] as [() throws -> Void] {
            #expect(throws: ArchiveError.self, performing: read)
        }
    }
}
