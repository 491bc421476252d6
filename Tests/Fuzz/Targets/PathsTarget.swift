import Archive
import Glibc

/// A script of entries below an archive's directory: files, directories, links and pipes are created and removed, and
/// paths through them are opened, listed, renamed and removed. A model predicts each call's result, and nothing outside
/// the archive changes.
enum PathsTarget {
    static func run(_ bytes: [UInt8]) {
        var script = PathsScript(bytes)
        script.run()
    }
}

/// The entry of a name.
private enum Node: Equatable {
    case directory([String: Node])
    case file
    case link
    case pipe

    /// The error of opening it as a file; 0: none.
    var codeAsFile: Int32 {
        switch self {
        case .file: 0
        case .directory: EISDIR
        case .link: ELOOP
        case .pipe: ENXIO
        }
    }

    /// The error of using it as a directory; 0: none.
    var codeAsDirectory: Int32 {
        switch self {
        case .directory: 0
        case .link: ELOOP
        case .file, .pipe: ENOTDIR
        }
    }

    /// The node at a path, or its error.
    func find(_ parts: some Sequence<String>) -> (node: Node?, code: Int32) {
        var node = self
        for part in parts {
            guard case .directory(let children) = node else { return (nil, node.codeAsDirectory) }
            if part == "." { continue }
            guard let child = children[part] else { return (nil, ENOENT) }
            node = child
        }
        return (node, 0)
    }

    /// Puts a node at a path whose directory exists, or removes the existing one.
    mutating func set(_ parts: ArraySlice<String>, _ new: Node?) {
        guard case .directory(var children) = self, let first = parts.first else { return }
        if parts.count == 1 {
            children[first] = new
        } else if first == "." {
            set(parts.dropFirst(), new)
            return
        } else {
            children[first]?.set(parts.dropFirst(), new)
        }
        self = .directory(children)
    }
}

private struct PathsScript {
    private static let mostSteps = 60
    /// Few, so that paths coincide.
    private static let names = ["a", "b", "c", ".", "..", "a\0b"]
    private static let place =
        (FileSystem.isDirectory("/dev/shm") ? "/dev/shm" : "/tmp") + "/tributary-paths-\(getpid())"
    private static let root = "\(place)/archive"
    private static let outside = "\(place)/outside"
    /// Targets of links.
    private static let targets = [
        outside, "\(outside)/file", "\(outside)/directory", "..", ".", "a", "b/c", "/", "nothing",
        root,
    ]
    private static let disk = SystemDisk()

    private var input: InputReader
    private var tree = Node.directory([:])

    init(_ bytes: [UInt8]) { input = InputReader(bytes) }

    mutating func run() {
        Self.clear(Self.place)
        for directory in ["", "/archive", "/outside", "/outside/directory"] {
            precondition(mkdir(Self.place + directory, 0o755) == 0)
        }
        for file in ["/outside/file", "/outside/directory/file"] {
            precondition(mknod(Self.place + file, S_IFREG | 0o644, 0) == 0)
        }
        for _ in 0..<Self.mostSteps where !input.isAtEnd { step() }
        precondition(Self.read(Self.root) == tree)
        precondition(
            Self.read(Self.outside)
                == .directory(["directory": .directory(["file": .file]), "file": .file]))
        Self.clear(Self.place)
    }

    // MARK: The actual state, read independently

    private static func names(_ path: String) -> [String] {
        guard let handle = opendir(path) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func read(_ path: String) -> Node {
        switch kind(path) {
        case S_IFREG: .file
        case S_IFLNK: .link
        case S_IFIFO: .pipe
        default:
            .directory(
                Dictionary(
                    uniqueKeysWithValues: names(path).map { ($0, read("\(path)/\($0)")) }))
        }
    }

    private static func clear(_ path: String) {
        guard let kind = kind(path) else { return }
        guard kind == S_IFDIR else {
            Glibc.unlink(path)
            return
        }
        for name in names(path) { clear("\(path)/\(name)") }
        rmdir(path)
    }

    // MARK: Steps

    private mutating func step() {
        let kind = input.byte() % 12
        let place = Place(&input)
        switch kind {
        case 0: make(.link, at: place) { symlink(Self.targets[$1], $0) }
        case 1: make(.pipe, at: place) { path, _ in mkfifo(path, 0o644) }
        case 2:
            let code = code(of: Self.disk.makeDirectory(place.path))
            expect(code, place.code(in: tree) ?? (place.node(in: tree) == nil ? 0 : EEXIST))
            if code == 0 { tree.set(place.parts[...], .directory([:])) }
        case 3: open(place, O_RDONLY)
        case 4: open(place, O_RDWR | O_CREAT)
        case 5: open(place, O_RDWR | O_CREAT | O_EXCL)
        case 6: unlink(place)
        case 7: removeDirectory(place)
        case 8: rename(place, to: Place(&input))
        case 9: list(place)
        case 10: removeTree(place)
        default:
            precondition(
                FileSystem.exists(place.path)
                    == (place.code(in: tree) == nil && place.node(in: tree) != nil))
        }
    }

    private func code(of result: Int32) -> Int32 { result < 0 ? errno : 0 }

    private func expect(_ code: Int32, _ expected: Int32) {
        precondition(code == expected, "errno \(code), not \(expected)")
    }

    /// Creates an entry by direct calls, where the model knows that no link is in the path.
    private mutating func make(
        _ node: Node, at place: Place, by call: (_ path: String, _ number: Int) -> Int32
    ) {
        let number = Int(input.byte()) % Self.targets.count
        guard place.code(in: tree) == nil, call(place.path, number) == 0 else { return }
        tree.set(place.parts[...], node)
    }

    private mutating func open(_ place: Place, _ flags: Int32) {
        let descriptor = Self.disk.open(place.path, flags: flags, mode: 0o644)
        let code = code(of: descriptor)
        if descriptor >= 0 { Self.disk.close(descriptor) }
        guard place.code(in: tree) == nil else { return expect(code, place.code(in: tree) ?? 0) }
        guard let node = place.node(in: tree) else {
            expect(code, flags & O_CREAT == 0 ? ENOENT : 0)
            if code == 0 { tree.set(place.parts[...], .file) }
            return
        }
        expect(code, node == .file && flags & O_EXCL != 0 ? EEXIST : node.codeAsFile)
    }

    private mutating func unlink(_ place: Place) {
        let code = code(of: Self.disk.unlink(place.path))
        expect(code, place.code(in: tree) ?? expectedOfUnlink(place.node(in: tree)))
        if code == 0 { tree.set(place.parts[...], nil) }
    }

    private func expectedOfUnlink(_ node: Node?) -> Int32 {
        switch node {
        case nil: ENOENT
        case .directory: EISDIR
        case .file, .link, .pipe: 0
        }
    }

    private mutating func removeDirectory(_ place: Place) {
        let code = code(of: Self.disk.removeDirectory(place.path))
        let expected: Int32 =
            switch place.node(in: tree) {
            case nil: ENOENT
            case .directory(let children): children.isEmpty ? 0 : ENOTEMPTY
            case .file, .link, .pipe: ENOTDIR
            }
        expect(code, place.code(in: tree) ?? expected)
        if code == 0 { tree.set(place.parts[...], nil) }
    }

    private mutating func rename(_ place: Place, to other: Place) {
        let code = code(of: Self.disk.rename(place.path, to: other.path))
        if let expected = place.code(in: tree) ?? other.code(in: tree) {
            // The two directories may be opened in either order.
            return precondition(code == expected || code == other.code(in: tree))
        }
        // The model does not reproduce the kernel's rules for replacement.
        if code == 0 { tree = Self.read(Self.root) }
    }

    private func list(_ place: Place) {
        var code: Int32 = 0
        var names: [String] = []
        do throws(ArchiveError) {
            names = try FileSystem.names(in: place.path)
        } catch {
            code = error.code ?? -1
        }
        guard !place.parts.contains(where: Place.isRefused) else { return expect(code, EINVAL) }
        let found = tree.find(place.parts)
        if case .directory(let children) = found.node {
            precondition(code == 0 && names == children.keys.sorted())
        } else {
            let expected = found.node?.codeAsDirectory ?? found.code
            expect(code, expected == ENOENT ? 0 : expected)
            precondition(names.isEmpty)
        }
    }

    private mutating func removeTree(_ place: Place) {
        var code: Int32 = 0
        do throws(ArchiveError) {
            try FileSystem.removeTree(place.path)
        } catch {
            code = error.code ?? -1
        }
        let expected = place.code(in: tree) ?? 0
        expect(code, expected == ENOENT ? 0 : expected)
        if code == 0 && expected == 0 { tree.set(place.parts[...], nil) }
    }

    /// A path in the archive.
    private struct Place {
        /// At least one; the last is not `.`.
        let parts: [String]
        var path: String { ([PathsScript.root] + parts).joined(separator: "/") }

        init(_ input: inout InputReader) {
            let bytes = (0...input.byte() % 4).map { _ in input.byte() }
            var parts = bytes.map { PathsScript.names[Int($0) % PathsScript.names.count] }
            if parts.last == "." { parts[parts.count - 1] = "a" }
            self.parts = parts
        }

        static func isRefused(_ part: String) -> Bool { part == ".." || part.contains("\0") }

        func node(in tree: Node) -> Node? { tree.find(parts).node }

        /// The error before the last name is looked up; nil: none.
        func code(in tree: Node) -> Int32? {
            if parts.contains(where: Self.isRefused) { return EINVAL }
            let holder = tree.find(parts.dropLast())
            let code = holder.node?.codeAsDirectory ?? holder.code
            return code == 0 ? nil : code
        }
    }
}
