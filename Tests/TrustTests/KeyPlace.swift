import Foundation
import Trust

/// A key directory for one test.
final class KeyPlace {
    let directory: KeyDirectory

    init() {
        directory = KeyDirectory(
            FileManager.default.temporaryDirectory
                .appending(path: "tributary-keys-\(UUID().uuidString)/keys").path)
    }

    deinit {
        do {
            let base = URL(filePath: directory.path).deletingLastPathComponent()
            if FileManager.default.fileExists(atPath: base.path) {
                try FileManager.default.removeItem(at: base)
            }
        } catch {
            print("left behind \(directory.path): \(error)")
        }
    }

    func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    func write(_ text: String, to path: String) throws {
        try FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o644)
    }

    func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}
