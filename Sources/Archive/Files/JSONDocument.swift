import FoundationEssentials

/// The small files of an archive in JSON: sorted keys, a line feed at the end.
package enum JSONDocument {
    /// The bytes of a value.
    /// - Precondition: encoding it cannot fail.
    /// - Parameter isIndented: several lines, for a file that people may read; otherwise one line.
    package static func bytes(of value: some Encodable, isIndented: Bool = true) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isIndented { encoder.outputFormatting.insert(.prettyPrinted) }
        do {
            return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
        } catch {
            preconditionFailure("plain values always encode: \(error)")
        }
    }
}
