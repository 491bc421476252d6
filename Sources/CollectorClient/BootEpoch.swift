import Glibc
import Hashing
package import Media

/// The identity of this boot's monotonic clock.
///
/// Two readings of `CLOCK_MONOTONIC` are comparable only within one boot and one time namespace: another namespace's clock has a
/// different zero.
package enum BootEpoch {
    /// The present epoch; random where the kernel does not report it (then every start of the agent is a separate epoch).
    package static func identity() -> EpochID {
        guard let boot = contents(of: "/proc/sys/kernel/random/boot_id"),
            let namespace = target(of: "/proc/self/ns/time")
        else { return .random() }
        let digest = HashFunction.sha256.hash(Array("\(boot) \(namespace)".utf8))
        return EpochID(Array(digest.prefix(16))) ?? .random()
    }

    private static func contents(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    private static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 128)
        let count = readlink(link, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
