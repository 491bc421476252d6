/// Entity tags (RFC 9110 §8.8.3), as stores send them.
package enum EntityTag {
    /// The tag without the mark of a weak one. Proxies that compress weaken the tags of their answers (RFC 9110 §8.8.1); the
    /// store's own tag is the rest. Conditions compare strongly (RFC 9110 §13.1.1): a weak tag would never match.
    static func strong(_ tag: String) -> String {
        tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
    }

    /// Whether two tags are about the same content: the weak comparison (RFC 9110 §8.8.3.2). Some listings leave out the
    /// quotes.
    package static func isSame(_ one: String, _ other: String) -> Bool {
        strong(one).replacing("\"", with: "") == strong(other).replacing("\"", with: "")
    }
}
