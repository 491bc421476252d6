extension KeyedDecodingContainer {
    /// The first values of a list: the rest, which may be of any length, is not decoded.
    func decodeFirst<Value: Decodable>(_ limit: Int, forKey key: Key) throws -> [Value] {
        var list = try nestedUnkeyedContainer(forKey: key)
        var values: [Value] = []
        while values.count < limit, !list.isAtEnd {
            values.append(try list.decode(Value.self))
        }
        return values
    }

    /// The same; nil without a list.
    func decodeFirstIfPresent<Value: Decodable>(
        _ limit: Int, forKey key: Key
    ) throws -> [Value]? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try decodeFirst(limit, forKey: key)
    }
}
