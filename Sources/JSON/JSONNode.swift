/// A JSON value built from an `Encodable` one.
///
/// Foundation's encoder produces text, which would have to be parsed again to convert units: five times the work.
final class JSONNode {
    enum Content {
        case null
        case flag(Bool)
        case integer(Int64)
        case unsigned(UInt64)
        case number(Double)
        case text(String)
        case list([JSONNode])
        /// Without duplicate names.
        case object([String: JSONNode])
    }

    fileprivate(set) var content: Content

    fileprivate init(_ content: Content) { self.content = content }

    /// Encodes a value. A value that encodes nothing becomes an empty object.
    init(_ value: some Encodable) throws {
        content = .object([:])
        try set(value, at: [])
    }

    fileprivate func set(_ value: some Encodable, at path: [any CodingKey]) throws {
        try value.encode(to: NodeEncoder(node: self, codingPath: path))
    }

    /// Appends an element.
    fileprivate func appended(_ content: Content) -> JSONNode {
        let node = JSONNode(content)
        guard case .list(var elements) = self.content else {
            preconditionFailure("a container of another kind was asked for in between")
        }
        // Drops the second reference to the list, so that the append does not copy it.
        self.content = .null
        elements.append(node)
        self.content = .list(elements)
        return node
    }

    fileprivate func member(_ name: String, _ content: Content) -> JSONNode {
        let node = JSONNode(content)
        guard case .object(var members) = self.content else {
            preconditionFailure("a container of another kind was asked for in between")
        }
        self.content = .null
        members[name] = node
        self.content = .object(members)
        return node
    }

    /// The shortest decimal number: 0.1, not its nearest binary value.
    fileprivate static func number(_ value: Float) -> Double {
        Double("\(value)") ?? Double(value)
    }

    fileprivate var count: Int {
        if case .list(let elements) = content { elements.count } else { 0 }
    }
}

private struct NodeEncoder: Encoder {
    let node: JSONNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        // A type that requests a container twice, for itself and its superclass, adds to the same object.
        if case .object = node.content {} else { node.content = .object([:]) }
        return KeyedEncodingContainer(NodeMembers(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .list = node.content {} else { node.content = .list([]) }
        return NodeElements(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        NodeValue(node: node, codingPath: codingPath)
    }
}

private struct NodeMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: JSONNode
    let codingPath: [any CodingKey]

    private func set(_ content: JSONNode.Content, _ key: Key) {
        _ = node.member(key.stringValue, content)
    }

    func encodeNil(forKey key: Key) { set(.null, key) }
    func encode(_ value: Bool, forKey key: Key) { set(.flag(value), key) }
    func encode(_ value: String, forKey key: Key) { set(.text(value), key) }
    func encode(_ value: Double, forKey key: Key) { set(.number(value), key) }
    func encode(_ value: Float, forKey key: Key) { set(.number(JSONNode.number(value)), key) }
    func encode(_ value: Int, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: Int8, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: Int16, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: Int32, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: Int64, forKey key: Key) { set(.integer(value), key) }
    func encode(_ value: UInt, forKey key: Key) { set(.unsigned(UInt64(value)), key) }
    func encode(_ value: UInt8, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: UInt16, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: UInt32, forKey key: Key) { set(.integer(Int64(value)), key) }
    func encode(_ value: UInt64, forKey key: Key) { set(.unsigned(value), key) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try node.member(key.stringValue, .object([:])).set(value, at: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(
            NodeMembers<Nested>(
                node: node.member(key.stringValue, .object([:])), codingPath: codingPath + [key]))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        NodeElements(
            node: node.member(key.stringValue, .list([])), codingPath: codingPath + [key])
    }

    func superEncoder() -> any Encoder {
        NodeEncoder(node: node.member("super", .object([:])), codingPath: codingPath)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        NodeEncoder(
            node: node.member(key.stringValue, .object([:])), codingPath: codingPath + [key])
    }
}

private struct NodeElements: UnkeyedEncodingContainer {
    let node: JSONNode
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    private func add(_ content: JSONNode.Content) { _ = node.appended(content) }

    func encodeNil() { add(.null) }
    func encode(_ value: Bool) { add(.flag(value)) }
    func encode(_ value: String) { add(.text(value)) }
    func encode(_ value: Double) { add(.number(value)) }
    func encode(_ value: Float) { add(.number(JSONNode.number(value))) }
    func encode(_ value: Int) { add(.integer(Int64(value))) }
    func encode(_ value: Int8) { add(.integer(Int64(value))) }
    func encode(_ value: Int16) { add(.integer(Int64(value))) }
    func encode(_ value: Int32) { add(.integer(Int64(value))) }
    func encode(_ value: Int64) { add(.integer(value)) }
    func encode(_ value: UInt) { add(.unsigned(UInt64(value))) }
    func encode(_ value: UInt8) { add(.integer(Int64(value))) }
    func encode(_ value: UInt16) { add(.integer(Int64(value))) }
    func encode(_ value: UInt32) { add(.integer(Int64(value))) }
    func encode(_ value: UInt64) { add(.unsigned(value)) }

    func encode(_ value: some Encodable) throws {
        try node.appended(.object([:])).set(value, at: codingPath)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(
            NodeMembers<Nested>(node: node.appended(.object([:])), codingPath: codingPath))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        NodeElements(node: node.appended(.list([])), codingPath: codingPath)
    }

    func superEncoder() -> any Encoder {
        NodeEncoder(node: node.appended(.object([:])), codingPath: codingPath)
    }
}

private struct NodeValue: SingleValueEncodingContainer {
    let node: JSONNode
    let codingPath: [any CodingKey]

    func encodeNil() { node.content = .null }
    func encode(_ value: Bool) { node.content = .flag(value) }
    func encode(_ value: String) { node.content = .text(value) }
    func encode(_ value: Double) { node.content = .number(value) }
    func encode(_ value: Float) { node.content = .number(JSONNode.number(value)) }
    func encode(_ value: Int) { node.content = .integer(Int64(value)) }
    func encode(_ value: Int8) { node.content = .integer(Int64(value)) }
    func encode(_ value: Int16) { node.content = .integer(Int64(value)) }
    func encode(_ value: Int32) { node.content = .integer(Int64(value)) }
    func encode(_ value: Int64) { node.content = .integer(value) }
    func encode(_ value: UInt) { node.content = .unsigned(UInt64(value)) }
    func encode(_ value: UInt8) { node.content = .integer(Int64(value)) }
    func encode(_ value: UInt16) { node.content = .integer(Int64(value)) }
    func encode(_ value: UInt32) { node.content = .integer(Int64(value)) }
    func encode(_ value: UInt64) { node.content = .unsigned(value) }
    func encode(_ value: some Encodable) throws { try node.set(value, at: codingPath) }
}
