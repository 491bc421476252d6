package import Accounts
package import Foundation
import Synchronization

/// A temporary directory for one test's accounts.
package final class AccessPlace: Sendable {
    package let directory: String
    package let users: UserFile

    package init() {
        directory =
            FileManager.default.temporaryDirectory
            .appending(path: "tributary-access-\(UUID().uuidString)").path
        users = UserFile("\(directory)/users")
        mkdir(directory, 0o755)
        // Other tests may have set a mask.
        chmod(directory, 0o755)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            print("left behind \(directory): \(error)")
        }
    }

    package func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    package func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        chmod(path, mode)
    }

    package func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    /// Names in the directory, sorted.
    package func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }
}

/// Values shared by tests of accounts.
package enum AccessSample {
    package static let password = "correct horse battery"
    package static let otherPassword = "battery horse correct"
    package static let key = AccessKey(bytes: Array(0..<32))
    package static let otherKey = AccessKey(bytes: Array(1...32))
    /// Seconds since 1970.
    package static let now: Int64 = 1_800_000_000
    /// scrypt of the password, as Python's hashlib has it.
    package static let secret =
        "scrypt$10$1$1$AAECAwQFBgcICQoLDA0ODw$6lgv-XA7MWIg-yKCMWDNYJeA6igSTYE0blzQ13cpbiM"

    package static func account(
        _ name: String = "anna", role: Role = .viewer, sources: SourceScope = .all,
        secret: String = AccessSample.secret
    ) throws -> UserAccount {
        try UserAccount(
            "\(name):\(role.rawValue):\(sources.text):\(secret)", line: 1, path: "users")
    }

    /// The instant a number of seconds after ``now``.
    package static func time(_ seconds: Int64) -> AccessTime {
        AccessTime(
            secondsSince1970: now + seconds,
            monotonicNanoseconds: 5_000_000_000_000 + seconds * 1_000_000_000)
    }
}

/// Lines that were reported.
package final class ReportedLines: Sendable {
    package init() {}

    private let lines = Mutex<[String]>([])

    package func add(_ line: String) { lines.withLock { $0.append(line) } }

    package var all: [String] { lines.withLock { $0 } }
}
