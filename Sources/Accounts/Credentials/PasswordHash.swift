import Hashing

/// A stored password: scrypt (RFC 7914) over it and a salt.
///
/// As text: `scrypt$15$8$3$SALT$HASH`, with the logarithm of N to base 2, r, p, and base64url.
package struct PasswordHash: Hashable, Sendable {
    /// Cost parameters of scrypt: 128 · N · r bytes of memory, and N · r · p steps.
    package struct Cost: Hashable, Sendable {
        /// log2 N.
        package let log2Rounds: Int
        /// r.
        package let blockSize: Int
        /// p.
        package let parallelism: Int

        private static let log2RoundsRange = 10...17
        private static let blockSizeRange = 1...16
        private static let parallelismRange = 1...16

        /// 32 MiB, and a quarter of a second of an ordinary processor.
        package static let standard = Cost(unchecked: 15, 8, 3)
        /// Minimum: 128 KiB.
        package static let least = Cost(unchecked: 10, 1, 1)

        private init(unchecked log2Rounds: Int, _ blockSize: Int, _ parallelism: Int) {
            self.log2Rounds = log2Rounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// Returns nil for parameters that are invalid or need more than 256 MiB. They are read from a file, so they are checked.
        package init?(log2Rounds: Int, blockSize: Int, parallelism: Int) {
            guard Self.log2RoundsRange.contains(log2Rounds),
                Self.blockSizeRange.contains(blockSize),
                Self.parallelismRange.contains(parallelism),
                // RFC 7914 §2: N is less than 2^(128 · r / 8).
                log2Rounds < 16 * blockSize
            else { return nil }
            self.init(unchecked: log2Rounds, blockSize, parallelism)
        }

        /// Memory for computing a hash, bytes.
        package var memoryBytes: Int { 128 * blockSize << log2Rounds }
    }

    /// For passwords chosen by people; NIST SP 800-63B requires at least 8.
    package static let minimumCharacters = 12
    /// Longer than any typed password; clients must not make the server hash megabytes.
    package static let maximumBytes = 1_024
    private static let saltBytes = 16
    private static let hashBytes = 32
    private static let method = "scrypt"
    private static let separator: Character = "$"

    package let cost: Cost
    private let salt: [UInt8]
    private let hash: [UInt8]

    private init(cost: Cost, salt: [UInt8], hash: [UInt8]) {
        self.cost = cost
        self.salt = salt
        self.hash = hash
    }

    /// Hashes a new password.
    /// - Throws: ``AccessError/passwordTooShort(minimumCharacters:)``, ``AccessError/passwordTooLong(maximumBytes:)``.
    package init(of password: String, cost: Cost = .standard) throws(AccessError) {
        guard password.unicodeScalars.count >= Self.minimumCharacters else {
            throw .passwordTooShort(minimumCharacters: Self.minimumCharacters)
        }
        let bytes = Array(password.utf8)
        guard bytes.count <= Self.maximumBytes else {
            throw .passwordTooLong(maximumBytes: Self.maximumBytes)
        }
        let salt = randomBytes(Self.saltBytes)
        let derived = try Self.derive(bytes, salt: salt, cost)
        self.init(cost: cost, salt: salt, hash: derived)
    }

    // MARK: Text

    package var text: String {
        let (n, r, p) = (cost.log2Rounds, cost.blockSize, cost.parallelism)
        return
            "\(Self.method)$\(n)$\(r)$\(p)$\(ByteText.base64URL(salt))$\(ByteText.base64URL(hash))"
    }

    /// Parses ``text``; nil if it is invalid.
    package init?(text: String) {
        let fields = text.split(
            separator: Self.separator, maxSplits: 6, omittingEmptySubsequences: false
        ).map { String($0) }
        guard fields.count == 6, fields[0] == Self.method,
            let log2Rounds = Self.number(fields[1]), let blockSize = Self.number(fields[2]),
            let parallelism = Self.number(fields[3]),
            let cost = Cost(
                log2Rounds: log2Rounds, blockSize: blockSize, parallelism: parallelism),
            let salt = ByteText.decode(base64URL: fields[4]), salt.count == Self.saltBytes,
            let hash = ByteText.decode(base64URL: fields[5]), hash.count == Self.hashBytes
        else { return nil }
        self.init(cost: cost, salt: salt, hash: hash)
    }

    /// Without signs and leading zeros.
    private static func number(_ text: String) -> Int? {
        guard let number = Int(text), "\(number)" == text else { return nil }
        return number
    }

    // MARK: Verification

    /// Verifies a password. Blocks for the time of the hash.
    ///
    /// Without a hash, the same work is done and the result is false, so that the time does not reveal which names have accounts.
    /// - Parameters:
    ///   - stored: nil without an account or a password.
    ///   - cost: of the work in that case.
    package static func verify(
        _ password: [UInt8], against stored: PasswordHash?, otherwise cost: Cost
    ) throws(AccessError) -> Bool {
        let dummy = PasswordHash(
            cost: cost, salt: [UInt8](repeating: 0, count: saltBytes),
            hash: [UInt8](repeating: 0, count: hashBytes))
        let isEqual = try (stored ?? dummy).isHash(of: password)
        return isEqual && stored != nil
    }

    /// Whether a password has a valid length. The answer is the same for every account, so that it reveals
    /// nothing.
    package static func isVerifiable(_ password: [UInt8]) -> Bool {
        // HMAC pads a key with zeros (RFC 2104 §2): a password that ends with them would equal the one without.
        (1...maximumBytes).contains(password.count) && !password.contains(0)
    }

    private func isHash(of password: [UInt8]) throws(AccessError) -> Bool {
        guard Self.isVerifiable(password) else { return false }
        return AuthenticationCode.isEqual(try Self.derive(password, salt: salt, cost), hash)
    }

    private static func derive(
        _ password: [UInt8], salt: [UInt8], _ cost: Cost
    ) throws(AccessError) -> [UInt8] {
        guard
            let key = Scrypt.derive(
                from: password, salt: salt, rounds: 1 << cost.log2Rounds,
                blockSize: cost.blockSize, parallelism: cost.parallelism, byteCount: hashBytes)
        else { throw .hashing(reason: "libcrypto has no \(cost.memoryBytes >> 20) MiB of memory") }
        return key
    }
}
