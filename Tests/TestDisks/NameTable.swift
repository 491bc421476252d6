/// The names on a disk.
struct NameTable {
    enum Node: Hashable {
        case directory
        case file(Int)
    }

    enum Change {
        case link(String, Int)
        case makeDirectory(String)
        case unlink(String)
        case rename(String, String)
    }

    private var nodes: [String: Node] = [:]

    subscript(path: String) -> Node? { nodes[path] }

    /// Directories before their entries.
    var paths: [String] { nodes.keys.sorted() }

    /// The numbers of all files.
    var files: [Int] {
        nodes.values.compactMap { if case .file(let number) = $0 { number } else { nil } }
    }

    func paths(of file: Int) -> [String] {
        nodes.filter { $0.value == .file(file) }.map(\.key)
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .link(let path, let file): nodes[path] = .file(file)
        case .makeDirectory(let path): nodes[path] = .directory
        case .unlink(let path): nodes[path] = nil
        case .rename(let path, let new):
            nodes[new] = nodes.removeValue(forKey: path)
            for (name, node) in nodes where name.hasPrefix("\(path)/") {
                nodes[name] = nil
                nodes[new + name.dropFirst(path.count)] = node
            }
        }
    }
}
