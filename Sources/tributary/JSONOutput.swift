import FoundationEssentials
import Terminal

/// Values as JSON on standard output.
enum JSONOutput {
    /// Prints one value, keys sorted, for people and programs alike.
    static func print(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(value)
        Swift.print(String(decoding: data, as: UTF8.self))
    }
}
