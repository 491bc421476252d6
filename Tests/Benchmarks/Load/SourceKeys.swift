import Glibc
import Messaging
import Trust

/// A key for each source, as on a site, authorised in the collector's directory of keys.
enum SourceKeys {
    /// Time for a running collector to read new key files.
    private static let settlingMicroseconds: UInt32 = 3_000_000

    /// - Parameter directory: the collector's keys; its agents' files are written there.
    /// - Returns: each source's socket security.
    static func make(_ sources: Int, in directory: String, of collector: PublicKey) throws
        -> [SocketSecurity]
    {
        let place = KeyDirectory(directory)
        if mkdir(place.agentsPath, 0o755) != 0, errno != EEXIST {
            throw LoadError.system(operation: "make \(place.agentsPath)", errno: errno)
        }
        let securities = try (0..<sources).map { number in
            let key = try SecretKey.generate()
            let name = "source\(number)"
            try write(
                "key = \(key.publicKey.text)\nsources = \(name)\n", to: place.agentPath(name))
            return SocketSecurity.client(key, server: collector)
        }
        usleep(settlingMicroseconds)
        return securities
    }

    private static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw LoadError.system(operation: "write \(path)", errno: errno)
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw LoadError.system(operation: "write \(path)", errno: errno)
        }
    }
}
