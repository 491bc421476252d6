/// Reads bits, most significant first, and Exp-Golomb codes (ISO/IEC 14496-10 §9.1).
struct BitReader {
    private let bytes: [UInt8]
    private let syntax: BitstreamError.Syntax
    /// Bits read so far.
    private var position = 0

    init(_ bytes: [UInt8], of syntax: BitstreamError.Syntax) {
        self.bytes = bytes
        self.syntax = syntax
    }

    var bitsLeft: Int { bytes.count * 8 - position }

    /// The next `count` bits as a number, 0 … 32 of them.
    mutating func bits(_ count: Int) throws(BitstreamError) -> UInt32 {
        precondition((0...32).contains(count), "at most 32 bits fit")
        guard count <= bitsLeft else { throw .truncated(syntax, offset: bytes.count) }
        var value: UInt32 = 0
        var wanted = count
        while wanted > 0 {
            let used = position & 7
            let taken = min(8 - used, wanted)
            let chunk = (bytes[position >> 3] << UInt8(used)) >> UInt8(8 - taken)
            value = (value << UInt32(taken)) | UInt32(chunk)
            position += taken
            wanted -= taken
        }
        return value
    }

    mutating func flag() throws(BitstreamError) -> Bool {
        try bits(1) == 1
    }

    mutating func skip(_ count: Int) throws(BitstreamError) {
        guard count <= bitsLeft else { throw .truncated(syntax, offset: bytes.count) }
        position += count
    }

    /// `ue(v)`: an unsigned Exp-Golomb code of at most 32 bits.
    mutating func unsignedGolomb(
        _ field: String, atMost limit: UInt32 = .max
    ) throws(BitstreamError) -> UInt32 {
        var zeros = 0
        while try !flag() {
            zeros += 1
            guard zeros < 32 else { throw .invalid(syntax, field: field, value: .max) }
        }
        let value = ((UInt32(1) << UInt32(zeros)) - 1) + (try bits(zeros))
        guard value <= limit else { throw .invalid(syntax, field: field, value: UInt64(value)) }
        return value
    }

    /// `se(v)`: a signed Exp-Golomb code.
    mutating func signedGolomb(_ field: String) throws(BitstreamError) -> Int32 {
        let code = try unsignedGolomb(field)
        let magnitude = Int32((UInt64(code) + 1) / 2)
        return code & 1 == 1 ? magnitude : -magnitude
    }
}
