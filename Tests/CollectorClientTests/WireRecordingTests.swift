import Foundation
import CollectorClient
import Testing

@Suite struct WireRecordingTests {
    private static let entries = [
        WireRecording.Entry(
            connection: 1, arrivedNanoseconds: 5, content: .connection(address: "10.0.0.1")),
        WireRecording.Entry(
            connection: 1, arrivedNanoseconds: 6,
            content: .message(header: [1, 2, 3], payload: nil)),
        WireRecording.Entry(
            connection: 1, arrivedNanoseconds: 7_000_000_000,
            content: .message(header: [4], payload: [5, 6, 7, 8])),
        WireRecording.Entry(
            connection: 2, arrivedNanoseconds: 7_000_000_001,
            content: .message(header: [], payload: [])),
        WireRecording.Entry(
            connection: 0, arrivedNanoseconds: .max, content: .missing(messages: 9)),
    ]
    private static let beginning = WireRecording.Beginning(
        monotonicNanoseconds: -3, utcNanoseconds: 1_790_000_000_000_000_000)

    private static var bytes: [UInt8] {
        WireRecording.header(beginning) + entries.flatMap(WireRecording.bytes)
    }

    private func withRecording(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "wire-\(UUID().uuidString).wire").path
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        try body(path)
    }

    private func read(_ path: String) throws -> (entries: [WireRecording.Entry], isTorn: Bool) {
        let reader = try WireRecordingReader(path)
        #expect(reader.beginning == Self.beginning)
        var entries: [WireRecording.Entry] = []
        while let entry = try reader.next() { entries.append(entry) }
        return (entries, reader.isTorn)
    }

    @Test func `entries are read back as they were written`() throws {
        try withRecording(Self.bytes) { path in
            #expect(WireRecordingReader.isWireRecording(path))
            let (entries, isTorn) = try read(path)
            #expect(entries == Self.entries && !isTorn)
            #expect(try WireRecordingReader(path).lastArrival() == .max)
        }
    }

    @Test func `all complete entries of a file with a torn end are read`() throws {
        let whole = Self.bytes
        let last = WireRecording.bytes(Self.entries[4]).count
        for cut in 1..<last {
            try withRecording(Array(whole.dropLast(cut))) { path in
                let (entries, isTorn) = try read(path)
                #expect(entries == Array(Self.entries.dropLast()) && isTorn, "\(cut)")
                let last = try WireRecordingReader(path).lastArrival()
                #expect(last == Self.entries[3].arrivedNanoseconds, "\(cut)")
            }
        }
    }

    @Test func `every flipped byte after the header is detected`() throws {
        for position in WireRecording.headerBytes..<Self.bytes.count {
            var damaged = Self.bytes
            damaged[position] ^= 0x10
            try withRecording(damaged) { path in
                do {
                    let (entries, isTorn) = try read(path)
                    // A length that reaches past the end looks as if it had been torn.
                    #expect(isTorn && entries.count < Self.entries.count, "byte \(position)")
                } catch let error as WireRecordingError {
                    #expect(!error.description.contains("\n"))
                }
            }
        }
    }

    @Test func `a file that is not a wire recording is refused in one line`() throws {
        try withRecording(Array("hello".utf8)) { path in
            #expect(!WireRecordingReader.isWireRecording(path))
            #expect(throws: WireRecordingError.noWireRecording(path: path)) {
                try WireRecordingReader(path)
            }
        }
        var other = Self.bytes
        other[8] = 7
        try withRecording(other) { path in
            #expect(throws: WireRecordingError.version(path: path, 7)) {
                try WireRecordingReader(path)
            }
        }
        #expect(throws: WireRecordingError.self) { try WireRecordingReader("/nowhere.wire") }
    }
}
