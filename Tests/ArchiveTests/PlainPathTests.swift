import CLinux
import Glibc
import TestRecordings
import Testing

@testable import Archive

/// Entries below an archive's directory may be hostile.
@Suite struct PlainPathTests {
    private let scene: StrangeDirectory

    init() throws { scene = try StrangeDirectory() }

    private func code(of work: () throws -> Void) -> Int32? {
        do {
            try work()
            return nil
        } catch {
            return (error as? ArchiveError)?.code
        }
    }

    private func expected(_ entry: StrangeEntry) -> Int32? {
        switch entry {
        case .file: nil
        case .directory: EISDIR
        case .linkToFile, .linkToDirectory, .linkToNothing, .linkToItself: ELOOP
        case .pipe, .socket: ENXIO
        }
    }

    // MARK: Opening

    @Test(arguments: StrangeEntry.allCases)
    func `only a regular file is opened, and the rest is refused at once`(
        entry: StrangeEntry
    ) throws {
        let path = scene.path("x")
        entry.make(at: path, outside: scene.outside)
        for flags in [O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_WRONLY] {
            let code = code { close(try FileSystem.open(path, flags: flags, mode: 0o644)) }
            #expect(code == expected(entry), "flags \(flags)")
        }
        #expect(code { _ = try FileSystem.read(path, limit: 10) } == expected(entry))
        #expect(code { _ = try RecordingFile(growing: path) } == expected(entry))
        #expect(code { _ = try RecordingFile(reopening: path) } == expected(entry))
        #expect(
            code { try FileSystem.withFile(path) { _ = $0 } } == expected(entry))
        #expect(code { _ = try RecordingFile(creating: path) } == expected(entry) ?? EEXIST)
        try scene.expectOutsideUnchanged()
    }

    @Test(arguments: StrangeEntry.allCases)
    func `only a directory is listed, and the rest is refused at once`(
        entry: StrangeEntry
    ) throws {
        let path = scene.path("x")
        entry.make(at: path, outside: scene.outside)
        let expected: Int32? =
            switch entry {
            case .directory: nil
            case .file, .pipe, .socket: ENOTDIR
            case .linkToFile, .linkToDirectory, .linkToNothing, .linkToItself: ELOOP
            }
        #expect(code { _ = try FileSystem.names(in: path) } == expected)
        #expect(code { try FileSystem.forEachEntry(in: path) { _ in } } == expected)
        #expect(code { try FileSystem.synchronizeDirectory(path) } == expected)
        #expect(code { _ = try DirectoryLock(path, busy: "") } == expected)
        #expect(code { _ = try FileSystem.hasDirectory(path) } == expected)
        #expect(FileSystem.isDirectory(path) == (entry == .directory))
        #expect(
            try FileSystem.directoryNames(in: scene.archive) == (entry == .directory ? ["x"] : []))
        try scene.expectOutsideUnchanged()
    }

    @Test(arguments: ["x/file", "x/directory/file", "x/../outside/file", "../outside/file"])
    func `no part of a path is a link, and none leads upwards`(name: String) throws {
        StrangeEntry.linkToDirectory.make(at: scene.path("directory"), outside: scene.outside)
        symlink(scene.outside, scene.path("x"))
        let path = scene.path(name)
        let expected = name.contains("..") ? EINVAL : ELOOP
        #expect(code { close(try FileSystem.open(path)) } == expected)
        #expect(code { _ = try RecordingFile(creating: path + "2") } == expected)
        #expect(code { try FileSystem.replace(path, with: []) } == expected)
        #expect(code { try FileSystem.remove(path, on: SystemDisk()) } == expected)
        #expect(code { _ = try FileSystem.size(path) } == expected)
        #expect(code { _ = try FileSystem.modified(path) } == expected)
        #expect(!FileSystem.exists(path))
        let disk = SystemDisk()
        for result in [
            disk.makeDirectory(path + "2"), disk.removeDirectory(path), disk.unlink(path),
            disk.rename(path, to: scene.path("y")), disk.synchronizeDirectory(path),
        ] {
            #expect(result == -1)
        }
        try FileSystem.replace(scene.path("y"), with: [1])
        #expect(disk.rename(scene.path("y"), to: path) == -1 && errno == expected)
        try scene.expectOutsideUnchanged()
    }

    @Test func `a path with a NUL is refused, not truncated`() throws {
        try FileSystem.replace(scene.path("a"), with: [1])
        #expect(code { close(try FileSystem.open(scene.path("a\0b"))) } == EINVAL)
        #expect(code { _ = try FileSystem.names(in: scene.archive + "\0/x") } == EINVAL)
    }

    @Test(arguments: PlainPath.Resolution.allCases)
    func `with and without openat2, the same paths are refused`(
        resolution: PlainPath.Resolution
    ) throws {
        symlink(scene.outside, scene.path("link"))
        symlink(".", scene.path("self"))
        try FileSystem.makeDirectories(scene.path("a/b"))
        try FileSystem.replace(scene.path("a/file"), with: [])
        func result(_ path: String) -> Int32 {
            let descriptor = PlainPath.openDirectory(path, flags: O_RDONLY, by: resolution)
            guard descriptor >= 0 else { return errno }
            close(descriptor)
            return 0
        }
        #expect(result(scene.path("a/b")) == 0)
        #expect(result(scene.path("a//b/")) == 0)
        #expect(result(scene.path("a/./b")) == 0)
        #expect(result("/") == 0)
        #expect(result(".") == 0)
        #expect(result(scene.path("link")) == ELOOP)
        #expect(result(scene.path("link/directory")) == ELOOP)
        #expect(result(scene.path("self/a")) == ELOOP)
        #expect(result(scene.path("a/file")) == ENOTDIR)
        #expect(result(scene.path("a/file/b")) == ENOTDIR)
        #expect(result(scene.path("a/none")) == ENOENT)
        #expect(result(scene.path("a/../a")) == EINVAL)
    }

    // MARK: The archive's own directory

    @Test func `the archive's own directory may be behind links`() throws {
        symlink(scene.archive, "\(scene.outside)/directory/link")
        defer { unlink("\(scene.outside)/directory/link") }
        let layout = ArchiveLayout(root: "\(scene.outside)/directory/link/")
        #expect(layout.root == scene.archive)
        #expect(layout.control == "\(scene.outside)/directory/link/collector.sock")
        try FileSystem.makeDirectories(layout.source("s", "camera"))
        #expect(try layout.sessionNames() == ["s"] && layout.sourceNames("s") == ["camera"])
    }

    @Test func `a path without links stays as it was given`() throws {
        for path in [scene.archive, "none", "./none", "/none/of/these", ".", "/"] {
            #expect(NamedPath.resolved(path) == path)
        }
        #expect(NamedPath.resolved("\(scene.outside)/../archive") == scene.archive)
        symlink(scene.archive, "\(scene.outside)/directory/link")
        defer { unlink("\(scene.outside)/directory/link") }
        #expect(
            NamedPath.resolved("\(scene.outside)/directory/link/not/yet")
                == "\(scene.archive)/not/yet")
    }

    // MARK: Removing

    @Test func `a removal stays in the directory`() throws {
        let session = scene.path("session")
        try FileSystem.makeDirectories("\(session)/camera")
        for (index, entry) in StrangeEntry.allCases.enumerated() {
            entry.make(at: "\(session)/camera/\(index)", outside: scene.outside)
        }
        symlink(scene.outside, "\(session)/door")
        try FileSystem.removeTree(session)
        #expect(!FileSystem.exists(session))
        try scene.expectOutsideUnchanged()
    }

    @Test(arguments: StrangeEntry.allCases)
    func `a removal of a link or file removes only the entry`(entry: StrangeEntry) throws {
        entry.make(at: scene.path("x"), outside: scene.outside)
        try FileSystem.removeTree(scene.path("x"))
        #expect(try FileSystem.names(in: scene.archive).isEmpty)
        try scene.expectOutsideUnchanged()
    }

    @Test func `a session that is a link is not emptied`() throws {
        let layout = ArchiveLayout(root: scene.archive)
        try FileSystem.makeDirectories(layout.sessions)
        symlink("\(scene.outside)/directory", layout.session("s"))
        symlink("\(scene.outside)/directory", "\(layout.sessions)/.removing-t")
        #expect(try layout.sessionNames().isEmpty)
        #expect(try layout.strays()?.contains("/s is a symbolic link") == true)
        try SessionRemoval.remove("s", from: layout)
        try SessionRemoval.complete(in: layout)
        #expect(try FileSystem.names(in: layout.sessions).isEmpty)
        try scene.expectOutsideUnchanged()
    }

    @Test func `names that are not UTF-8 are ignored, and removed with their directory`() throws {
        try FileSystem.makeDirectories(scene.path("session"))
        let directory = PlainPath.openDirectory(scene.path("session"), flags: O_RDONLY)
        defer { close(directory) }
        let file: [CChar] = [-1, -2, 0]
        let inner: [CChar] = [-3, 0]
        close(CLinux_open_at(directory, file, O_CREAT | O_WRONLY, 0o644))
        #expect(mkdirat(directory, inner, 0o755) == 0)
        #expect(try FileSystem.names(in: scene.path("session")).isEmpty)
        #expect(try FileSystem.directoryNames(in: scene.path("session")).isEmpty)
        try FileSystem.removeTree(scene.path("session"))
        #expect(!FileSystem.exists(scene.path("session")))
    }

    @Test func `directories in each other are removed to a depth`() throws {
        let deep = scene.path("x") + String(repeating: "/d", count: 60)
        try FileSystem.makeDirectories(deep)
        try FileSystem.removeTree(scene.path("x"))
        #expect(!FileSystem.exists(scene.path("x")))
        try FileSystem.makeDirectories(deep + deep.dropFirst(scene.archive.count))
        #expect(throws: ArchiveError.self) { try FileSystem.removeTree(scene.path("x")) }
    }

    // MARK: Writing

    @Test func `a file with another name is copied before it is changed`() throws {
        let path = scene.path("x")
        let other = "\(scene.outside)/file"
        for change in ["append", "cut", "overwrite"] {
            #expect(link(other, path) == 0)
            let file = try RecordingFile(reopening: path)
            #expect(file.sizeBytes == 6)
            switch change {
            case "append": try file.append(Array("!".utf8))
            case "cut": try file.cut(to: 3)
            default: try file.overwrite(Array("C".utf8), at: 0)
            }
            try file.synchronize()
            let expected = ["append": "canary!", "cut": "can", "overwrite": "Canary"][change]
            #expect(
                String(decoding: try FileSystem.read(path, limit: 64), as: UTF8.self) == expected)
            #expect(try FileSystem.names(in: scene.archive) == ["x"])
            try scene.expectOutsideUnchanged()
            unlink(path)
        }
    }

    @Test func `a file that is only read keeps its other names`() throws {
        #expect(link("\(scene.outside)/file", scene.path("x")) == 0)
        try RecordingFile(reopening: scene.path("x")).synchronize()
        var status = stat()
        #expect(stat(scene.path("x"), &status) == 0 && status.st_nlink == 2)
    }

    // MARK: Sizes

    @Test func `a file that claims to be large is not read`() throws {
        let path = scene.path("session.json")
        try FileSystem.replace(path, with: [])
        #expect(truncate(path, 10 << 30) == 0)
        #expect(throws: ArchiveError.malformed(path: path, reason: "larger than 100 bytes")) {
            try FileSystem.read(path, limit: 100)
        }
        let status = try #require(FileSystem.status(path))
        #expect(status.sizeBytes == 10 << 30 && status.allocatedBytes == 0)
    }

    @Test(arguments: [
        (ELOOP, "symbolic link"), (ENXIO, "pipe, socket or device"), (EISDIR, "a directory"),
        (E2BIG, "more entries"),
    ])
    func `a refusal is one line with the kind of file`(code: Int32, word: String) {
        let error = ArchiveError.system(operation: "open", path: "a/b", errno: code)
        #expect("\(error)".hasPrefix("cannot open a/b: ") && "\(error)".contains(word))
        #expect(!"\(error)".contains("\n") && error.reason.contains(word))
    }
}
