import Foundation

/// The checkout that these tests belong to.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Paths of all files below a folder, relative to the root, except built and hidden ones.
    static func files(below folder: String) -> [String] {
        let base = root.appending(path: folder)
        guard let walk = FileManager.default.enumerator(atPath: base.path) else { return [] }
        return walk.compactMap { $0 as? String }
            .filter { path in !path.split(separator: "/").contains { $0.hasPrefix(".") } }
            .map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
            .filter { path in
                var isDirectory: ObjCBool = false
                let full = root.appending(path: path).path
                return FileManager.default.fileExists(atPath: full, isDirectory: &isDirectory)
                    && !isDirectory.boolValue
            }
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Whether a file or folder exists.
    static func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }
}
