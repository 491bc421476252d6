import Files
import Glibc
package import Messaging

/// A directory of keys (`--keys DIR`), shared by all programs of a machine:
///
///     own.key            this machine's key; secret, 0600
///     collector.pub      on a camera box: the collector that it sends to
///     agents/NAME.pub    on a server: an agent's key, and the sources that it may write
package struct KeyDirectory: Hashable, Sendable {
    private static let systemDirectory = "/etc/tributary/keys"

    package let path: String

    package init(_ path: String) {
        var path = path
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    /// The default directory: `/etc/tributary/keys` for root and for users that can read it (such as services with access);
    /// otherwise `tributary/keys` in `$XDG_CONFIG_HOME` (default: `~/.config`).
    package static func standard() throws(TrustError) -> KeyDirectory {
        if geteuid() == 0 || access(systemDirectory, R_OK | X_OK) == 0 {
            return KeyDirectory(systemDirectory)
        }
        if let base = variable("XDG_CONFIG_HOME") { return KeyDirectory("\(base)/tributary/keys") }
        guard let home = variable("HOME") else { throw .noDefaultDirectory }
        return KeyDirectory("\(home)/.config/tributary/keys")
    }

    package var ownKeyPath: String { "\(path)/own.key" }
    package var collectorPath: String { "\(path)/collector.pub" }
    package var agentsPath: String { "\(path)/agents" }
    package func agentPath(_ name: String) -> String { "\(agentsPath)/\(name).pub" }

    /// Creates the directory if it does not exist.
    package func make() throws(TrustError) { try PrivateFile.makeDirectory(path) }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}

// This machine's own key.
extension KeyDirectory {
    private static let secretName = "secret-key"

    /// The machine's key; nil if none was created.
    package func ownKey() throws(TrustError) -> SecretKey? {
        let limit = FieldFile.maximumBytes
        guard var bytes = try PrivateFile.read(ownKeyPath, limit: limit, .secret) else {
            return nil
        }
        defer { wipe(&bytes) }
        return try Self.ownKey(String(decoding: bytes, as: UTF8.self), path: ownKeyPath)
    }

    /// Parses the file of a machine's key.
    static func ownKey(_ text: String, path: String) throws(TrustError) -> SecretKey {
        let file = try FieldFile(text, names: [secretName], path: path)
        guard var secret = KeyText.decode(try file.required(secretName), .secretKey) else {
            throw file.flaw(
                in: secretName,
                "this is not a secret key: restore the file, or remove it and generate a new key with "
                    + "'tributary keys generate'")
        }
        defer { wipe(&secret) }
        do throws(MessagingError) {
            return try SecretKey(secret)
        } catch {
            throw .keys("\(error)")
        }
    }

    /// Creates the machine's key.
    /// - Throws: ``TrustError/ownKeyExists(path:)`` if there is one.
    package func makeOwnKey() throws(TrustError) -> SecretKey {
        try make()
        let key: SecretKey
        do throws(MessagingError) {
            key = try .generate()
        } catch {
            throw .keys("\(error)")
        }
        try store(key, replacing: false)
        return key
    }

    /// Stores a key as the machine's own.
    func store(_ key: SecretKey, replacing: Bool) throws(TrustError) {
        var bytes = Self.ownKeyText(key)
        defer { wipe(&bytes) }
        try PrivateFile.write(ownKeyPath, bytes, mode: 0o600, replacing ? .replace : .create)
    }

    /// The file of a machine's key.
    static func ownKeyText(_ key: SecretKey) -> [UInt8] {
        var bytes = Array(
            """
            # The secret key of this machine's Tributary programs. Who has it can pose as this machine: it stays here,
            # readable by its owner alone (0600). 'tributary keys list' shows its public key.
            \(secretName) = \n
            """.utf8)
        bytes.removeLast()
        var secret = key.withUnsafeBytes { Array($0) }
        var text = KeyText.encodeBytes(secret, .secretKey)
        defer {
            wipe(&secret)
            wipe(&text)
        }
        bytes.reserveCapacity(bytes.count + text.count + 1)
        bytes += text
        bytes.append(0x0A)
        return bytes
    }
}

// The collector that a box sends to.
extension KeyDirectory {
    private static let keyName = "key"

    /// The key of the collector that the box sends to; nil if none was set.
    package func collectorKey() throws(TrustError) -> PublicKey? {
        let limit = FieldFile.maximumBytes
        guard let bytes = try PrivateFile.read(collectorPath, limit: limit, .trusted) else {
            return nil
        }
        let file = try FieldFile(
            String(decoding: bytes, as: UTF8.self), names: [Self.keyName], path: collectorPath)
        do throws(TrustError) {
            return try PublicKey(text: try file.required(Self.keyName))
        } catch {
            throw file.flaw(in: Self.keyName, "\(error)")
        }
    }

    /// Stores the key of the collector that this box sends to.
    package func trustCollector(_ key: PublicKey) throws(TrustError) {
        try make()
        let text = """
            # The public key of the collector that this box sends to.
            \(Self.keyName) = \(key.text)

            """
        try PrivateFile.write(collectorPath, Array(text.utf8), mode: 0o644, .replace)
    }
}
