/// An element with its attributes, children and text, parsed from untrusted bytes with limits.
///
/// The answers of object stores and cameras need a small part of XML 1.0: elements, attributes, text, the five named
/// entities and character references. Comments and processing instructions are skipped. Document types are rejected, and
/// with them all other entities. Namespace prefixes are dropped.
package struct XMLElement: Hashable, Sendable {
    package let name: String
    /// Values by name, namespace declarations included.
    package let attributes: [String: String]
    package private(set) var text: String = ""
    package private(set) var children: [XMLElement] = []

    /// The error of an invalid document.
    package struct Flaw: Error, Hashable, CustomStringConvertible {
        package let description: String
        /// Byte offset of the flaw.
        package let offset: Int

        init(_ description: String, at offset: Int) {
            self.description = description
            self.offset = offset
        }
    }

    /// Nesting depth: a store's listing has four levels, a camera's profile with its analytics a dozen.
    package static let maximumDepth = 32
    /// Elements of one document: a page of a listing has 1,000 objects of about ten elements.
    package static let maximumElements = 50_000
    /// Bytes of text of one element: the longest key has 1,024.
    package static let maximumTextBytes = 16_384
    /// Attributes of one element: an envelope declares two dozen namespaces.
    package static let maximumAttributes = 128
    private static let maximumNameBytes = 256

    private init(name: String, attributes: [String: String]) {
        self.name = name
        self.attributes = attributes
    }

    /// The first child with a name.
    package func child(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// The text of the first child with a name.
    package func text(of name: String) -> String? { child(name)?.text }

    /// The descendant at a path of child names; nil if it does not exist.
    package func descendant(_ names: String...) -> XMLElement? {
        var element: XMLElement? = self
        for name in names { element = element?.child(name) }
        return element
    }

    /// Parses a whole document.
    package static func parse(_ bytes: [UInt8]) throws(Flaw) -> XMLElement {
        var reader = Reader(bytes: bytes)
        return try reader.document()
    }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0
        var elements = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func document() throws(Flaw) -> XMLElement {
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
            var open: [XMLElement] = []
            var text: [UInt8] = []
            while true {
                guard at < bytes.count else { throw Flaw("it ends within an element", at: at) }
                if bytes[at] != UInt8(ascii: "<") {
                    try takeText(into: &text, isInside: !open.isEmpty)
                    continue
                }
                if starts(with: "<![CDATA[") {
                    let content = try skip(from: 9, to: "]]>")
                    guard !open.isEmpty else { throw Flaw("text outside of elements", at: at) }
                    text += bytes[content]
                    try checkText(text)
                } else if starts(with: "<!--") {
                    _ = try skip(from: 4, to: "-->")
                } else if starts(with: "<?") {
                    _ = try skip(from: 2, to: "?>")
                } else if starts(with: "<!") {
                    throw Flaw("document types are not accepted", at: at)
                } else if starts(with: "</") {
                    let name = try endTag()
                    guard var element = open.popLast(), element.name == name else {
                        throw Flaw("an end tag without its start tag", at: at)
                    }
                    // The text of an element with children is assumed to be whitespace, and is discarded.
                    if element.children.isEmpty {
                        element.text = String(decoding: text, as: UTF8.self)
                    }
                    text.removeAll()
                    guard let parent = open.indices.last else { return try finish(element) }
                    open[parent].children.append(element)
                } else {
                    let (element, isEmpty) = try startTag()
                    elements += 1
                    guard elements <= XMLElement.maximumElements else {
                        throw Flaw("too many elements", at: at)
                    }
                    text.removeAll()
                    if !isEmpty {
                        guard open.count < XMLElement.maximumDepth else {
                            throw Flaw("too many levels", at: at)
                        }
                        open.append(element)
                    } else if let parent = open.indices.last {
                        open[parent].children.append(element)
                    } else {
                        return try finish(element)
                    }
                }
            }
        }

        /// Only whitespace, comments and instructions may follow the root element.
        private mutating func finish(_ element: XMLElement) throws(Flaw) -> XMLElement {
            while at < bytes.count {
                if isSpace(bytes[at]) {
                    at += 1
                } else if starts(with: "<!--") {
                    _ = try skip(from: 4, to: "-->")
                } else if starts(with: "<?") {
                    _ = try skip(from: 2, to: "?>")
                } else {
                    throw Flaw("something follows the document", at: at)
                }
            }
            return element
        }

        private mutating func takeText(
            into text: inout [UInt8], isInside: Bool
        ) throws(Flaw) {
            let byte = bytes[at]
            guard isInside else {
                guard isSpace(byte) else { throw Flaw("text outside of elements", at: at) }
                at += 1
                return
            }
            if byte == UInt8(ascii: "&") {
                text += Array(String(try reference()).utf8)
            } else {
                let end = bytes[at...].firstIndex {
                    $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&")
                }
                let upTo = min(end ?? bytes.count, at + XMLElement.maximumTextBytes + 1)
                text += bytes[at..<upTo]
                at = upTo
            }
            try checkText(text)
        }

        private func checkText(_ text: [UInt8]) throws(Flaw) {
            guard text.count <= XMLElement.maximumTextBytes else {
                throw Flaw("the text of an element is too long", at: at)
            }
        }

        /// `&lt;`, `&#60;`, `&#x3C;` (XML 1.0 §4.1, §4.6).
        private mutating func reference() throws(Flaw) -> Unicode.Scalar {
            let start = at
            guard let end = bytes[at...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
                throw Flaw("a reference without an end", at: start)
            }
            let name = String(decoding: bytes[(at + 1)..<end], as: UTF8.self)
            at = end + 1
            switch name {
            case "amp": return "&"
            case "lt": return "<"
            case "gt": return ">"
            case "quot": return "\""
            case "apos": return "'"
            default: break
            }
            let value =
                name.hasPrefix("#x")
                ? UInt32(name.dropFirst(2), radix: 16)
                : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
            guard let value, let scalar = Unicode.Scalar(value) else {
                throw Flaw("an unknown reference", at: start)
            }
            return scalar
        }

        /// - Returns: the element, and whether it is an empty-element tag.
        private mutating func startTag() throws(Flaw) -> (element: XMLElement, isEmpty: Bool) {
            at += 1
            let name = try tagName()
            var attributes: [String: String] = [:]
            while true {
                while at < bytes.count, isSpace(bytes[at]) { at += 1 }
                guard at < bytes.count else { throw Flaw("a tag without an end", at: at) }
                if bytes[at] == UInt8(ascii: ">") {
                    at += 1
                    return (XMLElement(name: name, attributes: attributes), false)
                }
                if starts(with: "/>") {
                    at += 2
                    return (XMLElement(name: name, attributes: attributes), true)
                }
                guard attributes.count < XMLElement.maximumAttributes else {
                    throw Flaw("too many attributes", at: at)
                }
                let key = try tagName()
                attributes[key] = try attributeValue()
            }
        }

        /// `= "value"`, with references resolved.
        private mutating func attributeValue() throws(Flaw) -> String {
            while at < bytes.count, isSpace(bytes[at]) { at += 1 }
            guard at < bytes.count, bytes[at] == UInt8(ascii: "=") else {
                throw Flaw("an attribute without a value", at: at)
            }
            at += 1
            while at < bytes.count, isSpace(bytes[at]) { at += 1 }
            guard at < bytes.count,
                bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'")
            else { throw Flaw("an attribute's value without quotes", at: at) }
            let quote = bytes[at]
            at += 1
            var value: [UInt8] = []
            while at < bytes.count, bytes[at] != quote {
                guard bytes[at] != UInt8(ascii: "<") else {
                    throw Flaw("an attribute's value without an end", at: at)
                }
                if bytes[at] == UInt8(ascii: "&") {
                    value += Array(String(try reference()).utf8)
                } else {
                    value.append(bytes[at])
                    at += 1
                }
                try checkText(value)
            }
            guard at < bytes.count else {
                throw Flaw("an attribute's value without an end", at: at)
            }
            at += 1
            return String(decoding: value, as: UTF8.self)
        }

        private mutating func endTag() throws(Flaw) -> String {
            at += 2
            let name = try tagName()
            while at < bytes.count, isSpace(bytes[at]) { at += 1 }
            guard at < bytes.count, bytes[at] == UInt8(ascii: ">") else {
                throw Flaw("a tag without an end", at: at)
            }
            at += 1
            return name
        }

        /// Without its prefix.
        private mutating func tagName() throws(Flaw) -> String {
            let start = at
            while at < bytes.count, at - start <= XMLElement.maximumNameBytes,
                !isSpace(bytes[at]), !"/><&\"'=".utf8.contains(bytes[at])
            {
                at += 1
            }
            guard (1...XMLElement.maximumNameBytes).contains(at - start) else {
                throw Flaw("a tag without a valid name", at: start)
            }
            let name = bytes[start..<at]
            let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
            return String(decoding: local, as: UTF8.self)
        }

        private func starts(with text: StaticString) -> Bool {
            guard bytes.count - at >= text.utf8CodeUnitCount else { return false }
            return (0..<text.utf8CodeUnitCount).allSatisfy { index in
                bytes[at + index] == text.utf8Start[index]
            }
        }

        /// Skips to after the next `end`.
        /// - Returns: the bytes before it, starting `count` bytes after the present position.
        private mutating func skip(
            from count: Int, to end: StaticString
        ) throws(Flaw) -> Range<Int> {
            let start = at + count
            at = start
            while at < bytes.count {
                if starts(with: end) {
                    let content = start..<at
                    at += end.utf8CodeUnitCount
                    return content
                }
                at += 1
            }
            throw Flaw("it ends within a comment", at: start)
        }

        private func isSpace(_ byte: UInt8) -> Bool {
            byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
        }
    }
}
