import Glibc

/// Identifies an archive in a shared catalog: 128 random bits, in the file `archive.id` of its directory.
///
/// It contains neither path nor host: a directory that is moved, or mounted elsewhere, is the same archive. The file is
/// created when the archive first gets a catalog on a server. Delete it in a copy that is to become another archive.
package struct ArchiveIdentity: Hashable, Sendable {
    private static let maximumBytes = 256

    /// 32 hexadecimal digits.
    package let text: String

    private static func path(_ layout: ArchiveLayout) -> String { "\(layout.root)/archive.id" }

    private init?(_ text: String) {
        guard text.utf8.count == 32, text.allSatisfy({ "0123456789abcdef".contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// The identity of an archive; nil without one.
    package static func read(_ layout: ArchiveLayout) throws(ArchiveError) -> ArchiveIdentity? {
        let path = path(layout)
        guard FileSystem.exists(path) else { return nil }
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first
        guard let identity = ArchiveIdentity(String(line ?? "")) else {
            throw .malformed(
                path: path,
                reason: "is no archive's identity: restore it, or delete it to become a new archive"
            )
        }
        return identity
    }

    /// The identity of an archive; creates one if necessary. Call it with the archive's lock.
    package static func make(_ layout: ArchiveLayout) throws(ArchiveError) -> ArchiveIdentity {
        if let identity = try read(layout) { return identity }
        var random = SystemRandomNumberGenerator()
        let words = [random.next(), random.next()]
        let text = words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        guard let identity = ArchiveIdentity(text) else {
            preconditionFailure("32 hexadecimal digits: \(text)")
        }
        try FileSystem.replace(path(layout), with: Array("\(text)\n".utf8), on: layout.disk)
        return identity
    }

    /// The location of an archive for messages: host and directory.
    package static func place(_ layout: ArchiveLayout) -> String {
        "\(host):\(path(of: layout))"
    }

    /// The name of this host.
    package static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The absolute path of an archive's directory, without symbolic links.
    package static func path(of layout: ArchiveLayout) -> String {
        guard let path = realpath(layout.root, nil) else { return layout.root }
        defer { free(path) }
        return String(cString: path)
    }
}
