import Files
import Glibc
import Media
import Synchronization

/// Finds credentials like other S3 tools: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (with `AWS_SESSION_TOKEN`) in
/// the environment; else the profile `AWS_PROFILE` (`default`) of `AWS_SHARED_CREDENTIALS_FILE` (`~/.aws/credentials`).
///
/// A file is read again every minute, and when the store denies a request, so that credentials can be renewed without a
/// restart.
package final class CredentialsSource: Sendable {
    private static let ageNanoseconds: Int64 = 60_000_000_000

    private let environment: [String: String]
    private let readFile: @Sendable (String) -> [UInt8]?
    private let monotonicNow: @Sendable () -> Int64
    private let known = Mutex<(credentials: StoreCredentials, readAt: Int64)?>(nil)

    /// - Parameters:
    ///   - readFile: returns the content of a file; nil if it cannot be read.
    ///   - monotonicNow: a monotonic clock, nanoseconds.
    package init(
        environment: [String: String],
        readFile: @escaping @Sendable (String) -> [UInt8]? = CredentialsSource.contents,
        monotonicNow: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }
    ) {
        self.environment = environment
        self.readFile = readFile
        self.monotonicNow = monotonicNow
    }

    /// The credentials of this process.
    package convenience init() {
        let names = [
            "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
            "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE", "HOME",
        ]
        var environment: [String: String] = [:]
        for name in names {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        self.init(environment: environment)
    }

    /// The present credentials.
    /// - Parameter isRenewing: whether the cached ones were denied.
    func credentials(isRenewing: Bool = false) throws(ObjectStoreError) -> StoreCredentials {
        let now = monotonicNow()
        if !isRenewing, let known = known.withLock({ $0 }), now - known.readAt < Self.ageNanoseconds
        {
            return known.credentials
        }
        let found = try read()
        known.withLock { $0 = (found, now) }
        return found
    }

    private func read() throws(ObjectStoreError) -> StoreCredentials {
        let accessKey = value("AWS_ACCESS_KEY_ID")
        let secretKey = value("AWS_SECRET_ACCESS_KEY")
        if let accessKey, let secretKey {
            let credentials = StoreCredentials(
                accessKey: accessKey, secretKey: secretKey,
                sessionToken: value("AWS_SESSION_TOKEN"))
            guard credentials.isUsable else {
                throw ObjectStoreError(
                    .denied,
                    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN has characters that no key has: correct it"
                )
            }
            return credentials
        }
        if accessKey != nil || secretKey != nil {
            let missing = accessKey == nil ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"
            throw ObjectStoreError(
                .denied, "\(missing) is not set, but its counterpart is: set both")
        }
        let path = value("AWS_SHARED_CREDENTIALS_FILE") ?? "\(value("HOME") ?? "")/.aws/credentials"
        let profile = value("AWS_PROFILE") ?? "default"
        guard let bytes = readFile(path) else {
            throw ObjectStoreError(
                .denied,
                "no credentials for the store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write \(path)"
            )
        }
        guard let credentials = CredentialsFile.credentials(of: profile, in: bytes),
            credentials.isUsable
        else {
            throw ObjectStoreError(
                .denied,
                "\(path) has no usable keys for the profile '\(profile)': add them, or set AWS_PROFILE"
            )
        }
        return credentials
    }

    /// A non-empty variable.
    private func value(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A file of at most ``CredentialsFile/maximumBytes``; nil if it cannot be read.
    @Sendable package static func contents(_ path: String) -> [UInt8]? {
        do throws(FileError) {
            return try SmallFile.read(path, limit: CredentialsFile.maximumBytes, .any)?.bytes
        } catch {
            return nil
        }
    }
}
