import Testing

@testable import Media

@Suite struct ByteTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (110_000, "110 kB"),
            (1_500_000, "1.5 MB"), (999_000_000_000_000, "999 TB"), (1_949_999, "1.9 MB"),
            (1_950_000, "2 MB"), (Int64.max, "9223372 TB"),
        ] as [(Int64, String)])
    func `bytes are printed in a fitting unit`(bytes: Int64, text: String) {
        #expect(byteText(bytes) == text)
    }

    @Test func `the largest 64-bit number is printed`() {
        #expect(byteText(UInt64.max) == "9223372 TB")
    }
}
