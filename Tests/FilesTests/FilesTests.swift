import Foundation
import Testing

@testable import Files

/// A directory that is removed with it.
private final class Folder {
    let path = FileManager.default.temporaryDirectory
        .appending(path: "tributary-files-\(UUID().uuidString)").path

    init() throws { try Directory.make(path) }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { Issue.record(error) }
    }

    func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}

struct `A path` {
    @Test(arguments: [
        ("file", ".", "file"), ("/file", "/", "file"), ("a/b", "a", "b"), ("/a/b.c", "/a", "b.c"),
        ("/", "/", "/"), ("", ".", ""),
    ])
    func `has a directory and a name`(path: String, directory: String, name: String) {
        #expect(Path.directory(of: path) == directory)
        #expect(Path.name(of: path) == name)
    }

    @Test func `has a longest existing part`() throws {
        let folder = try Folder()
        #expect(Path.existingPart(of: "\(folder.path)/none/at/all") == folder.path)
        #expect(Path.existingPart(of: folder.path) == folder.path)
        #expect(Path.existingPart(of: "/tributary-none/x") == "/")
        #expect(Path.existingPart(of: "tributary-none/x") == ".")
    }
}

struct `A small file` {
    private let folder: Folder
    private var path: String { "\(folder.path)/file" }

    init() throws { folder = try Folder() }

    @Test func `is read with a limit`() throws {
        #expect(try SmallFile.read(path, limit: 3, .any) == nil)
        try SmallFile.write([1, 2, 3], to: path, mode: 0o600)
        #expect(try SmallFile.read(path, limit: 3, .secret)?.bytes == [1, 2, 3])
        #expect(throws: FileError.tooLarge(path: path, limitBytes: 2)) {
            try SmallFile.read(path, limit: 2, .any)
        }
        #expect(throws: FileError.system(operation: "read", path: folder.path, errno: EISDIR)) {
            try SmallFile.read(folder.path, limit: 2, .any)
        }
        #expect(throws: FileError.notAFile(path: folder.path)) {
            try SmallFile.read(folder.path, limit: 2, .secret)
        }
    }

    @Test func `is refused while others have permissions that are excluded`() throws {
        try SmallFile.write([1], to: path, mode: 0o644)
        #expect(try SmallFile.read(path, limit: 1, .trusted)?.bytes == [1])
        #expect(throws: FileError.accessibleByOthers(path: path)) {
            try SmallFile.read(path, limit: 1, .secret)
        }
        chmod(path, 0o620)
        #expect(throws: FileError.accessibleByOthers(path: path)) {
            try SmallFile.read(path, limit: 1, .trusted)
        }
        #expect(throws: FileError.accessibleByOthers(path: path)) {
            try SmallFile.check(path, .trusted)
        }
        #expect(try SmallFile.read(path, limit: 1, .any)?.bytes == [1])
    }

    @Test func `is replaced, or stays, and leaves no other file`() throws {
        let mask = umask(0o077)
        defer { umask(mask) }
        try SmallFile.write([1], to: path, mode: 0o644, .create)
        #expect(folder.mode(path) == 0o644)
        #expect(throws: FileError.system(operation: "write", path: path, errno: EEXIST)) {
            try SmallFile.write([2], to: path, mode: 0o644, .create)
        }
        let mark = SmallFile.Mark(of: path)
        chmod(path, 0o640)
        #expect(SmallFile.Mark(of: path) != mark)
        try SmallFile.write([3], to: path, mode: 0o644, .replaceKeepingMode)
        #expect(folder.mode(path) == 0o640)
        try SmallFile.write([4], to: path, mode: 0o600)
        #expect(folder.mode(path) == 0o600)
        let content = try #require(try SmallFile.read(path, limit: 9, .secret))
        #expect(content.bytes == [4] && content.mark == SmallFile.Mark(of: path))
        #expect(Directory.names(in: folder.path) == ["file"])
    }

    @Test func `is written beside leftovers, and old leftovers are removed`() throws {
        let (old, young) = ("\(path).a.new", "\(path).b.new")
        for leftover in [old, young] { try SmallFile.write([0], to: leftover, mode: 0o600) }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: old)
        try SmallFile.write([1], to: path, mode: 0o600)
        #expect(Directory.names(in: folder.path)?.sorted() == ["file", "file.b.new"])
    }

    @Test func `in a directory that does not exist names the directory`() {
        let error = #expect(throws: FileError.self) {
            try SmallFile.write([1], to: "\(folder.path)/none/file", mode: 0o600)
        }
        #expect(
            error
                == .system(
                    operation: "write into", path: "\(folder.path)/none", errno: ENOENT))
    }
}

struct `A directory` {
    @Test func `is made with its parents`() throws {
        let folder = try Folder()
        // Other tests change the process's umask for a moment.
        let isForOwner = try (1...5).contains { number in
            try Directory.make("\(folder.path)/\(number)/b", mode: 0o700)
            return folder.mode("\(folder.path)/\(number)") == 0o700
        }
        #expect(isForOwner)
        for number in 1...5 { rmdir("\(folder.path)/\(number)/b") }
        for number in 1...5 { rmdir("\(folder.path)/\(number)") }
        try Directory.make("\(folder.path)/a/b", mode: 0o700)
        try Directory.make("\(folder.path)/a/b/c", isForOwnerAbove: true)
        #expect(folder.mode("\(folder.path)/a/b/c") == 0o755)
        try SmallFile.write([1], to: "\(folder.path)/file", mode: 0o600)
        #expect(throws: FileError.self) { try Directory.make("\(folder.path)/file/x") }
        #expect(Directory.names(in: folder.path) { $0 != "file" } == ["a"])
        #expect(Directory.names(in: "\(folder.path)/none") == nil)
    }
}

struct `A lock` {
    @Test func `is held by one until it is released`() throws {
        let folder = try Folder()
        func take(_ kind: FileLock.Kind) throws -> FileLock? {
            let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            return try FileLock.take(descriptor, kind, path: folder.path)
        }
        func isFree(_ kind: FileLock.Kind) throws -> Bool {
            guard let lock = try take(kind) else { return false }
            withExtendedLifetime(lock) {}
            return true
        }
        do {
            let lock = try FileLock.wait(directory: folder.path)
            #expect(try !isFree(.exclusive) && !isFree(.shared))
            withExtendedLifetime(lock) {}
        }
        let shared = try take(.shared)
        #expect(try isFree(.shared) && !isFree(.exclusive))
        withExtendedLifetime(shared) {}
    }

    @Test func `is waited for until the timeout`() throws {
        let folder = try Folder()
        func take(_ timeout: Duration) throws -> FileLock? {
            let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            return try FileLock.take(descriptor, path: folder.path, timeout: timeout)
        }
        let holder = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try #require(flock(holder, LOCK_EX) == 0)
        let begin = ContinuousClock.now
        #expect(try take(.milliseconds(100)) == nil)
        #expect(ContinuousClock.now - begin >= .milliseconds(100))
        Thread.detachNewThread {
            usleep(50_000)
            close(holder)
        }
        #expect(try take(.seconds(30)) != nil)
    }
}

struct `A descriptor` {
    @Test func `is written and read in full`() throws {
        let folder = try Folder()
        let path = "\(folder.path)/file"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        #expect(Descriptor.write(descriptor, [1, 2, 3, 4]))
        #expect(Descriptor.write(descriptor, [7, 8], at: 1))
        #expect(Descriptor.read(descriptor, at: 0, count: 9) == [1, 7, 8, 4])
        #expect(Descriptor.read(descriptor, at: 9, count: 1) == [])
        #expect(Descriptor.read(-1, at: 0, count: 1) == nil)
        #expect(!Descriptor.write(-1, [1]))
    }
}
