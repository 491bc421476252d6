import TestSpools
import Testing

@testable import ViewerCore

/// The requested part of a file, from the headers `Range` and `If-Range` (RFC 9110 §14.1.2, §13.1.5).
@Suite struct ByteRangeRequestTests {
    private static let tag = "\"abc\""
    private static let seeds: ClosedRange<UInt64> = 1...20

    private func wanted(
        _ range: String?, ifRange: String? = nil, sizeBytes: Int64 = 10_000
    ) -> ByteRangeRequest {
        ByteRangeRequest(range, ifRange: ifRange, tag: Self.tag, sizeBytes: sizeBytes)
    }

    @Test func `without a range, the whole file is wanted`() {
        #expect(wanted(nil) == .whole)
        #expect(wanted(nil, ifRange: Self.tag) == .whole)
        #expect(wanted(nil, sizeBytes: 0) == .whole)
    }

    /// RFC 9110 §14.1.2 has most of these.
    @Test func `a range is limited to the file's bytes`() {
        let cases: [(text: String, bytes: Range<Int64>)] = [
            ("bytes=0-499", 0..<500),
            ("bytes=500-999", 500..<1_000),
            ("bytes=0-0", 0..<1),
            ("bytes=0-", 0..<10_000),
            ("bytes=9500-", 9_500..<10_000),
            ("bytes=9999-9999", 9_999..<10_000),
            ("bytes=9999-", 9_999..<10_000),
            ("bytes=9000-10000", 9_000..<10_000),
            ("bytes=0-9223372036854775807", 0..<10_000),
            ("bytes=00-0009", 0..<10),
            ("bytes=-500", 9_500..<10_000),
            ("bytes=-1", 9_999..<10_000),
            ("bytes=-10000", 0..<10_000),
            ("bytes=-10001", 0..<10_000),
            ("bytes=-9223372036854775807", 0..<10_000),
        ]
        for (text, bytes) in cases { #expect(wanted(text) == .part(bytes), "\(text)") }
        #expect(wanted("bytes=0-", sizeBytes: .max) == .part(0..<Int64.max))
        #expect(
            wanted("bytes=-1", sizeBytes: .max) == .part(Int64.max - 1..<Int64.max))
    }

    /// A last position past the end, and a suffix longer than the file, are limited to the file (RFC 9110 §14.1.2).
    @Test func `an end that no number holds is the file's end`() {
        #expect(wanted("bytes=5-9223372036854775808") == .part(5..<10_000))
        #expect(wanted("bytes=5-99999999999999999999") == .part(5..<10_000))
        #expect(wanted("bytes=-9223372036854775808") == .part(0..<10_000))
        #expect(wanted("bytes=-99999999999999999999") == .part(0..<10_000))
    }

    @Test func `a range after the file's end cannot be satisfied`() {
        for text in [
            "bytes=10000-", "bytes=10000-10001", "bytes=9223372036854775807-",
            "bytes=99999999999999999999-", "bytes=99999999999999999999-99999999999999999999",
            "bytes=-0", "bytes=-000",
        ] {
            #expect(wanted(text) == .notSatisfiable, "\(text)")
        }
    }

    @Test func `an empty file has no part`() {
        for text in ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-500", "bytes=7-9"] {
            #expect(wanted(text, sizeBytes: 0) == .notSatisfiable, "\(text)")
        }
    }

    @Test func `an invalid range, or several ranges, are ignored`() {
        for text in [
            "", "bytes", "bytes=", "bytes=-", "bytes=--", "bytes=5", "bytes=a-b", "bytes=0-1-2",
            "bytes=0-1,5-6", "bytes=0-1,", "bytes=,0-1", "bytes=0-,-1", "bytes= 0-1",
            "bytes=0 -1", "bytes=0- 1", " bytes=0-1", "bytes =0-1", "bytes=+0-1", "bytes=0-+1",
            "bytes=-+1", "bytes=0x0-0xF", "bytes=1e1-20", "bytes=0.0-1", "bytes=٠-١",
            "bytes=0-1\0", "lines=0-1", "seconds=1-2", "0-1", "none",
        ] {
            #expect(wanted(text) == .whole, "\(text)")
        }
        let long = "bytes=" + String(repeating: "0", count: 95) + "-1"
        #expect(wanted(long) == .whole)
    }

    @Test func `a reversed range is ignored`() {
        #expect(wanted("bytes=1-0") == .whole)
        #expect(wanted("bytes=500-499") == .whole)
        #expect(wanted("bytes=20000-10000") == .whole)
        #expect(wanted("bytes=9223372036854775807-0") == .whole)
    }

    @Test func `a part is wanted only while the file is the one that is named`() {
        #expect(wanted("bytes=0-9", ifRange: Self.tag) == .part(0..<10))
        #expect(wanted("bytes=10000-", ifRange: Self.tag) == .notSatisfiable)
        for other in [
            "\"abd\"", "abc", "W/\"abc\"", "", "*", "\"abc\", \"abd\"",
            "Fri, 20 Nov 2026 22:40:00 GMT",
        ] {
            #expect(wanted("bytes=0-9", ifRange: other) == .whole, "\(other)")
            #expect(wanted("bytes=10000-", ifRange: other) == .whole, "\(other)")
        }
    }

    @Test(arguments: seeds)
    func `a part is always in the file, and not empty`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sizes: [Int64] = [0, 1, 2, 9, 100, 1 << 32, .max]
        func number() -> String {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: ""
            case 1: "\(Int64.random(in: 0...12, using: &random))"
            case 2: "\(Int64.random(in: 0...Int64.max, using: &random))"
            case 3: "\(UInt64.random(in: 1...UInt64.max, using: &random))0"
            case 4: "\(Int64.max)"
            default: "\(Int64.random(in: 0...110, using: &random))"
            }
        }
        for _ in 0..<500 {
            let size = sizes.randomElement(using: &random) ?? 0
            let text = "bytes=\(number())-\(number())"
            guard case .part(let bytes) = wanted(text, sizeBytes: size) else { continue }
            #expect(!bytes.isEmpty, "seed \(seed): \(text) of \(size)")
            #expect(
                bytes.lowerBound >= 0 && bytes.upperBound <= size,
                "seed \(seed): \(text) of \(size)")
        }
    }
}
