/// Reads the fields of a decoder configuration record in order.
struct ConfigurationReader {
    private let bytes: [UInt8]
    private let syntax: BitstreamError.Syntax
    private var position = 0

    /// - Parameter position: of the first field.
    init(_ bytes: [UInt8], of syntax: BitstreamError.Syntax, from position: Int = 0) {
        self.bytes = bytes
        self.position = min(position, bytes.count)
        self.syntax = syntax
    }

    var bytesLeft: Int { bytes.count - position }

    mutating func byte() throws(BitstreamError) -> UInt8 {
        guard bytesLeft >= 1 else {
            throw .truncated(syntax, offset: position)
        }
        position += 1
        return bytes[position - 1]
    }

    mutating func nalUnits(count: Int) throws(BitstreamError) -> [[UInt8]] {
        var units: [[UInt8]] = []
        for _ in 0..<count {
            let length = Int(try byte()) << 8 | Int(try byte())
            guard length > 0, length <= bytesLeft else {
                throw .truncated(syntax, offset: position)
            }
            units.append(Array(bytes[position..<position + length]))
            position += length
        }
        return units
    }
}
