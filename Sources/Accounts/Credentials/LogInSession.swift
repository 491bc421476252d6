import Hashing

/// A log-in, stored only in its signed cookie.
///
/// As text, `base64url(payload).base64url(code)`. The payload, in network byte order:
///
///     version        1 byte: 1
///     issuedAt       8 bytes, seconds since 1970
///     expires        8 bytes, seconds since 1970
///     nonce         16 bytes
///     fingerprint   16 bytes, of the account's line
///     name           1–64 bytes, to the end
package struct LogInSession: Hashable, Sendable {
    /// Validity without a request: a day's work.
    package static let lifeSeconds: Int64 = 43_200
    /// Tolerance for a clock that was set back since it was issued.
    private static let clockToleranceSeconds: Int64 = 60

    private static let version: UInt8 = 1
    private static let timeBytes = 8
    private static let nonceBytes = 16
    private static let fingerprintBytes = 16
    private static let fixedBytes = 1 + 2 * timeBytes + nonceBytes + fingerprintBytes
    /// Sufficient for the longest name.
    private static let maximumTextBytes = 256

    package let name: String
    /// Seconds since 1970.
    package let issuedAt: Int64
    /// Seconds since 1970.
    package let expires: Int64
    /// The same in all cookies of one log-in.
    package let nonce: [UInt8]
    private let fingerprint: [UInt8]

    private init(
        name: String, issuedAt: Int64, nonce: [UInt8], fingerprint: [UInt8]
    ) {
        self.name = name
        self.issuedAt = issuedAt
        expires = issuedAt + Self.lifeSeconds
        self.nonce = nonce
        self.fingerprint = fingerprint
    }

    /// A new log-in.
    /// - Parameter now: seconds since 1970.
    package init(of account: UserAccount, key: AccessKey, now: Int64) {
        self.init(
            name: account.name, issuedAt: now, nonce: randomBytes(Self.nonceBytes),
            fingerprint: Self.fingerprint(of: account, key))
    }

    /// Whether the account is as it was at the log-in: a changed secret, role or list of sources ends its sessions.
    package func isOf(_ account: UserAccount, key: AccessKey) -> Bool {
        name == account.name && fingerprint == Self.fingerprint(of: account, key)
    }

    /// The same log-in with a new expiry, once half of its time is over; nil before.
    /// - Parameter now: seconds since 1970.
    package func renewed(now: Int64) -> LogInSession? {
        guard now - issuedAt >= Self.lifeSeconds / 2 else { return nil }
        return LogInSession(name: name, issuedAt: now, nonce: nonce, fingerprint: fingerprint)
    }

    /// Keyed, so that a cookie reveals nothing about the account's secret.
    private static func fingerprint(of account: UserAccount, _ key: AccessKey) -> [UInt8] {
        Array(key.code(of: Array(account.text.utf8), for: .account).prefix(fingerprintBytes))
    }
}

// The cookie's value.
extension LogInSession {
    package func text(key: AccessKey) -> String {
        let payload = payload
        let code = key.code(of: payload, for: .session)
        return "\(ByteText.base64URL(payload)).\(ByteText.base64URL(code))"
    }

    /// Parses ``text(key:)``; nil if it is forged, damaged, expired, or issued in the future.
    /// - Parameter now: seconds since 1970.
    package init?(text: String, key: AccessKey, now: Int64) {
        guard text.utf8.count <= Self.maximumTextBytes else { return nil }
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 2, let payload = ByteText.decode(base64URL: String(parts[0])),
            let code = ByteText.decode(base64URL: String(parts[1])),
            code.count == AccessKey.codeBytes,
            key.isValid(code, of: payload, for: .session),
            payload.count > Self.fixedBytes, payload.first == Self.version
        else { return nil }
        var rest = payload.dropFirst()
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let issuedAt = Self.number(take(Self.timeBytes))
        let expires = Self.number(take(Self.timeBytes))
        let nonce = take(Self.nonceBytes)
        let fingerprint = take(Self.fingerprintBytes)
        // A cookie signed with a leaked key may have any numbers: none of them overflows.
        guard now >= 0, issuedAt >= 0, issuedAt <= now + Self.clockToleranceSeconds,
            expires == issuedAt + Self.lifeSeconds, now < expires,
            let name = String(validating: rest, as: UTF8.self), UserName.isValid(name)
        else { return nil }
        self.init(name: name, issuedAt: issuedAt, nonce: nonce, fingerprint: fingerprint)
    }

    private var payload: [UInt8] {
        [Self.version] + Self.bytes(issuedAt) + Self.bytes(expires) + nonce + fingerprint
            + Array(name.utf8)
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        (0..<timeBytes).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func number(_ bytes: [UInt8]) -> Int64 {
        bytes.reduce(0) { ($0 << 8) | Int64($1) }
    }
}
