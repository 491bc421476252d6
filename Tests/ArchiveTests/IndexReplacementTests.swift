import Archive
import Media
import MP4
import TestRecordings
import Testing

/// A file that loses writes in a power cut: any subset since the last synchronisation may have reached the disk.
private struct FragileFile {
    var durable: [UInt8]
    private(set) var unsynchronised: [FileStep] = []

    init(_ bytes: [UInt8]) { durable = bytes }

    /// Possible contents of the disk: each write since the last synchronisation is complete, partial or missing.
    var possibilities: [[UInt8]] {
        var all = [durable]
        for step in unsynchronised {
            all = all.flatMap { bytes -> [[UInt8]] in
                switch step {
                case .write(let new, let offset):
                    // A small write within a sector is atomic; a large one may be partial.
                    let cuts =
                        new.count <= 16
                        ? [0, new.count] : [0, new.count / 3, new.count - 1, new.count]
                    return cuts.map { Self.writing(Array(new.prefix($0)), at: offset, to: bytes) }
                case .resize(let size):
                    return [bytes, Self.resized(bytes, to: size)]
                case .synchronize, .check:
                    return [bytes]
                }
            }
        }
        return all
    }

    mutating func perform(_ step: FileStep) {
        if step == .synchronize {
            for step in unsynchronised {
                switch step {
                case .write(let new, let offset):
                    durable = Self.writing(new, at: offset, to: durable)
                case .resize(let size): durable = Self.resized(durable, to: size)
                case .synchronize, .check: break
                }
            }
            unsynchronised = []
        } else {
            unsynchronised.append(step)
        }
    }

    /// A write past the end (the longer size was lost) extends the file.
    private static func writing(_ new: [UInt8], at offset: Int64, to bytes: [UInt8]) -> [UInt8] {
        guard !new.isEmpty else { return bytes }
        var bytes = resized(bytes, to: max(Int64(bytes.count), offset + Int64(new.count)))
        bytes.replaceSubrange(Int(offset)..<Int(offset) + new.count, with: new)
        return bytes
    }

    private static func resized(_ bytes: [UInt8], to size: Int64) -> [UInt8] {
        Array(bytes.prefix(Int(size)))
            + [UInt8](repeating: 0, count: max(0, Int(size) - bytes.count))
    }
}

@Suite struct IndexReplacementTests {
    @Sendable private static func late(_ session: Int64) -> Int64 { 2_000_000 }

    private func replacement(_ bytes: [UInt8]) throws -> IndexReplacement {
        let source = MemorySource(bytes)
        var scanner = try FragmentScanner(source)
        while try scanner.next() != nil {}
        return try IndexReplacement(
            of: source, layout: scanner.layout, fragmentsEnd: scanner.validEnd)
    }

    /// A file before and after retiming, and its new index.
    private func retimed() throws -> (
        session: WrittenSession, before: [UInt8], after: [UInt8], movie: [UInt8]
    ) {
        let session = try WrittenSession(segments: 1, secondsEach: 2, error: Self.late)
        let before = try session.bytes()[0]
        _ = try SessionRetimer(WrittenSession.name, in: session.layout).retime(isDryRun: false)
        let after = try session.bytes()[0]
        let current = try replacement(after).current
        return (session, before, after, Array(after[Int(current.offset)..<Int(current.end)]))
    }

    @Test(arguments: [false, true])
    func `at every instant of a power cut the file plays, by the one index or the other`(
        goingBack: Bool
    ) throws {
        let (session, before, after, movie) = try retimed()
        let path = try session.paths[0]
        let (from, to) = goingBack ? (after, before) : (before, after)
        let indices = try replacement(from)
        let steps = goingBack ? indices.stepsBack : indices.steps(replacingWith: movie)
        let known = [before, after].map { try? WrittenSession.times($0, .video) }
        var file = FragileFile(from)
        var looks = 0
        for step in steps {
            file.perform(step)
            for bytes in file.possibilities {
                looks += 1
                let times = try? WrittenSession.times(bytes, .video)
                #expect(times != nil && known.contains(times), "after \(looks) looks")
                try FileSystem.replace(path, with: bytes)
                let report = FileVerifier.verify(path).report
                #expect(report.isIntact, "\(report.findings)")
                // From any state, the same command gives the same result.
                let retimer = try SessionRetimer(WrittenSession.name, in: session.layout)
                _ =
                    goingBack
                    ? try retimer.undo(isDryRun: false) : try retimer.retime(isDryRun: false)
                #expect(try session.bytes()[0] == to)
            }
        }
        #expect(file.unsynchronised.isEmpty && file.durable == to)
        #expect(looks >= 6)
    }

    @Test func `a file never has more than two indices`() throws {
        let (_, _, after, movie) = try retimed()
        var other = movie
        // Another index of another length: one byte more, in a box that readers skip.
        other += [0, 0, 0, 8] + "free".utf8
        let size = UInt32(other.count)
        other.replaceSubrange(0..<4, with: withUnsafeBytes(of: size.bigEndian) { Array($0) })
        var file = FragileFile(after)
        for step in try replacement(after).steps(replacingWith: other) { file.perform(step) }
        #expect(file.durable.count == after.count + 8)
        for step in try replacement(file.durable).steps(replacingWith: movie) { file.perform(step) }
        #expect(file.durable == after)
    }
}
