import Foundation
import Testing

@testable import Spooling

struct `A spool's directory` {
    private func with(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-spool-\(UUID().uuidString.prefix(8))")
        defer {
            do { try FileManager.default.removeItem(at: directory) } catch { print(error) }
        }
        try body(directory.path + "/a/b")
    }

    @Test func `keeps records for the next process`() throws {
        try with { path in
            let body = Array("a record of an odd length".utf8)
            do {
                var shelf = try SpoolSet(
                    storage: DirectoryStorage(path: path), limitBytes: 1 << 20)
                let generation = shelf.begin(identity: Shelf.identity, origin: Shelf.origin)
                for number in 1...3 as ClosedRange<UInt64> {
                    try body.withBytes { body throws(SpoolError) in
                        try shelf.append(
                            .init(firstNumber: number, count: 1, kind: 1, beginsGroup: true),
                            body: [body], to: generation, staysShort: true, now: 0,
                            preamble: { [] })
                    }
                }
                try shelf.storage.synchronize(shelf.takeUnsynced())
                #expect(!shelf.hasUnsynced)
            }
            let shelf = try SpoolSet(storage: DirectoryStorage(path: path), limitBytes: 1 << 20)
            let contents = try #require(try shelf.contents(of: 1, at: 2))
            #expect(contents.items.count == 3)
            for item in contents.items {
                guard case .record(_, _, let read) = item else {
                    Issue.record("a record is missing")
                    return
                }
                #expect(Array(read) == body)
            }
        }
    }

    @Test func `has one writer`() throws {
        try with { path in
            let first = try DirectoryStorage(path: path)
            #expect(throws: SpoolError.inUse(path: path)) { try DirectoryStorage(path: path) }
            _ = first
        }
    }

    @Test func `is free for another writer when it is closed, although it is still referenced`()
        throws
    {
        try with { path in
            let first = try DirectoryStorage(path: path)
            first.close()
            first.close()
            let second = try DirectoryStorage(path: path)
            #expect(throws: SpoolError.inUse(path: path)) { try DirectoryStorage(path: path) }
            withExtendedLifetime((first, second)) {}
        }
    }

    @Test func `is refused in one line if it cannot be used`() throws {
        try with { path in
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            try Data().write(to: URL(filePath: path + "/file"))
            do {
                _ = try DirectoryStorage(path: path + "/file/spool")
                Issue.record("a file is no directory")
            } catch {
                #expect("\(error)".contains("Not a directory"))
                #expect(!"\(error)".contains("\n"))
            }
        }
    }
}
