/// The document with which a viewer lists the files of an archive: a page in the order of keys.
package struct ViewerObjects: Hashable, Sendable, Codable {
    package struct Object: Hashable, Sendable, Codable {
        /// `SESSION/NAME`, `SESSION/SOURCE/NAME`; of a folder with `/` at its end.
        package var key: String
        package var isFolder: Bool
        package var sizeBytes: Int64
        /// The entity tag with its quotes; empty for a folder.
        package var tag: String
    }

    package var objects: [Object]
    /// Whether there are objects after the last one.
    package var isTruncated: Bool

    package init(_ page: ObjectPage) {
        objects = page.entries.map {
            Object(key: $0.key, isFolder: $0.isFolder, sizeBytes: $0.sizeBytes, tag: $0.tag)
        }
        isTruncated = page.isTruncated
    }
}

extension ViewerObjects {
    static let maximumKeyBytes = 1_024
    private static let maximumTagBytes = 128

    /// The page, checked against what was asked for.
    /// - Returns: nil if an entry is not below the prefix and behind `after`, in order, with a possible key, size and tag.
    func page(prefix: String, after: String?, limit: Int) -> ObjectPage? {
        guard objects.count <= limit, !isTruncated || !objects.isEmpty else { return nil }
        var last = after ?? ""
        for object in objects {
            guard object.key.utf8.count <= Self.maximumKeyBytes, object.key.hasPrefix(prefix),
                last.utf8.lexicographicallyPrecedes(object.key.utf8),
                Self.isKey(object.isFolder ? object.key.dropLast() : object.key[...]),
                object.isFolder == object.key.hasSuffix("/"), object.sizeBytes >= 0,
                object.isFolder || Self.isTag(object.tag)
            else { return nil }
            last = object.key
        }
        let entries = objects.map {
            ObjectPage.Entry(
                key: $0.key, isFolder: $0.isFolder, sizeBytes: $0.sizeBytes, tag: $0.tag,
                modifiedNanoseconds: nil)
        }
        return ObjectPage(entries: entries, isTruncated: isTruncated)
    }

    private static func isKey(_ key: Substring) -> Bool {
        key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && key.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0 != "." && $0 != ".."
            }
    }

    /// Whether a text is a strong entity tag (RFC 9110 §8.8.3), which is sent back in a header.
    static func isTag(_ text: String) -> Bool {
        text.utf8.count >= 2 && text.utf8.count <= maximumTagBytes && text.hasPrefix("\"")
            && text.hasSuffix("\"")
            && text.dropFirst().dropLast().utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"")
            }
    }
}
