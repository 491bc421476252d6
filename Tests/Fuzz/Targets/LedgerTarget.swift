import Archive

/// A ledger's bytes: valid lines are parsed and survive a round trip.
enum LedgerTarget {
    static func run(_ bytes: [UInt8]) {
        check(bytes)
        // Checksums reject nearly all of a fuzzer's lines; sealing them tests the content's parser.
        for line in bytes.split(separator: UInt8(ascii: "\n")).prefix(8) {
            check(sealed(Array(line)))
        }
    }

    private static func check(_ bytes: [UInt8]) {
        let contents = Ledger.parse(bytes)
        let again = Ledger.parse(contents.entries.flatMap(Ledger.line))
        precondition(again.entries == contents.entries)
        precondition(again.damagedLines.isEmpty && !again.hasTornTail)
    }

    /// A line's beginning with a valid checksum.
    static func sealed(_ body: [UInt8]) -> [UInt8] {
        let sum = Digest(of: body).bytes.prefix(8).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        return body + Array(",\"check\":\"\(sum)\"}\n".utf8)
    }
}
