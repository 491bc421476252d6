import Files
import Media
import Glibc
import MP4

/// The numbers of a file's records, from the headers of its fragments.
struct SegmentNumbers {
    private var runs: [(spool: SpoolID, range: ClosedRange<UInt64>)] = []
    /// An error in the file; the numbers that were read are still correct.
    private(set) var flaw: String?

    /// Reads a file; an error is in ``flaw``.
    static func read(_ path: String) -> SegmentNumbers {
        var numbers = SegmentNumbers()
        let descriptor = PlainPath.openFile(path, flags: O_RDONLY)
        guard descriptor >= 0 else {
            numbers.flaw = systemMessage(errno)
            return numbers
        }
        defer { close(descriptor) }
        do throws(MP4Error) {
            try numbers.scan(DescriptorSource(descriptor: descriptor))
        } catch {
            numbers.flaw = "\(error)"
        }
        return numbers
    }

    /// The first record of a file, from its first fragment; nil when it cannot be read.
    static func first(of path: String) -> (spool: SpoolID, first: UInt64)? {
        let descriptor = PlainPath.openFile(path, flags: O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        do throws(MP4Error) {
            var numbers = SegmentNumbers()
            var scanner = try FragmentScanner(DescriptorSource(descriptor: descriptor))
            if let fragment = try scanner.next() { numbers.append(fragment) }
            guard let spool = numbers.runs.first?.spool,
                let first = numbers.runs.map(\.range.lowerBound).min()
            else { return nil }
            return (spool, first)
        } catch {
            return nil
        }
    }

    /// Non-adjacent ranges, ascending, by spool.
    var ranges: [(spool: SpoolID, ranges: [ClosedRange<UInt64>])] {
        Dictionary(grouping: runs, by: \.spool).map { spool, runs in
            (spool, Self.joined(runs.map(\.range)))
        }.sorted { $0.spool < $1.spool }
    }

    private static func joined(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
        var joined: [ClosedRange<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, range.lowerBound <= last.upperBound + 1 {
                joined[joined.count - 1] =
                    last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }

    private mutating func scan(_ source: DescriptorSource) throws(MP4Error) {
        var scanner = try FragmentScanner(source)
        while let fragment = try scanner.next() { append(fragment) }
        if case .damaged(let error) = scanner.stop { flaw = "\(error)" }
    }

    private mutating func append(_ fragment: ScannedFragment) {
        for box in fragment.userBoxes where box.userType == FragmentRecord.userType {
            do throws(FragmentRecord.Malformed) {
                append(try FragmentRecord(parsing: box.payload))
            } catch {
                flaw = error.description
            }
        }
    }

    private mutating func append(_ record: FragmentRecord) {
        for run in record.pieces.flatMap(\.runs) where run.samples > 0 {
            let last = run.firstSequence.addingReportingOverflow(UInt64(run.samples) - 1)
            guard !last.overflow else { continue }
            runs.append((record.spool, run.firstSequence...last.partialValue))
        }
    }
}
