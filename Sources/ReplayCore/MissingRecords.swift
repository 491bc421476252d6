import Archive
import Media
import Recordings

/// Finds the records of a source that are neither in its files nor in its ledger, while its files are read.
///
/// Records are stored nearly in the order of their numbers: late audio is in a later fragment, or in the file before. A hole
/// in the numbers is therefore reported when the files that can have its records were read.
struct MissingRecords {
    /// Missing records between two that were read.
    struct Hole: Hashable {
        var samples: UInt64
        /// End of the sample before it, and start of the sample after it; equal if one of them is unknown. Session time,
        /// nanoseconds.
        var startNanoseconds: Int64
        var endNanoseconds: Int64
    }

    /// Numbers that were skipped and may be read later.
    private struct Candidate {
        var spool: SpoolID
        var numbers: ClosedRange<UInt64>
        var start: Int64
        var end: Int64
        /// Whether the records before and after it are in different files.
        var isBetweenFiles: Bool
    }

    /// The records of a spool that were read.
    private struct Course {
        var numbers = SequenceSet()
        var first: (number: UInt64, start: Int64)
        /// The highest number.
        var newest: (number: UInt64, end: Int64, file: RecordedFile)
    }

    /// Audio and video of the same time are at most two fragments apart.
    private static let latenessNanoseconds: Int64 = 4_000_000_000

    private let source: RecordedSource.ExpectedRecords
    private let isFromStart: Bool
    private let to: Int64?
    private var courses: [SpoolID: Course] = [:]
    private var candidates: [Candidate] = []
    /// The numbers of a fragment are unreadable: holes are no longer reported.
    private var isUnreadable = false

    /// - Parameters:
    ///   - from: session time, nanoseconds: the files before it are not read.
    ///   - to: the files after it are not read.
    init(_ source: RecordedSource.ExpectedRecords, from: Int64?, to: Int64?) {
        self.source = source
        isFromStart = from == nil
        self.to = to
    }

    /// Notes a fragment that was read, in the order of reading.
    mutating func note(_ fragment: RecordedFragment) {
        guard let spool = fragment.record?.spool else {
            isUnreadable = true
            return
        }
        for run in fragment.pieces.lazy.flatMap(\.runs) {
            guard let first = run.samples.first, let start = first.sequence,
                let last = run.samples.last, let end = last.sequence, start <= end
            else { continue }
            note(
                start...end, of: spool, from: first.dtsNanoseconds, to: last.endNanoseconds,
                in: fragment.file)
        }
    }

    private mutating func note(
        _ numbers: ClosedRange<UInt64>, of spool: SpoolID, from start: Int64, to end: Int64,
        in file: RecordedFile
    ) {
        var course =
            courses[spool]
            ?? Course(
                first: (numbers.lowerBound, start), newest: (numbers.upperBound, end, file))
        let newest = course.newest
        if newest.number < numbers.lowerBound - min(1, numbers.lowerBound) {
            candidates.append(
                Candidate(
                    spool: spool, numbers: newest.number + 1...numbers.lowerBound - 1,
                    start: newest.end, end: max(newest.end, start),
                    isBetweenFiles: newest.file !== file))
        }
        course.numbers.insert(numbers)
        if numbers.upperBound >= newest.number { course.newest = (numbers.upperBound, end, file) }
        if numbers.lowerBound < course.first.number { course.first = (numbers.lowerBound, start) }
        courses[spool] = course
    }

    /// Another file is about to be read.
    /// - Parameter origin: its start, session time in nanoseconds.
    /// - Returns: holes that neither this file nor a later one fills.
    mutating func begin(fileAt origin: Int64) -> [Hole] {
        take {
            $0.end.clampedAdding(RecordedSession.overlapNanoseconds) < origin
        }
    }

    /// All files of the range were read.
    mutating func end() -> [Hole] {
        guard !isUnreadable else { return [] }
        guard let to else { return take { _ in true } + ends() }
        // Files after the range may have the audio of its end.
        return take {
            $0.isBetweenFiles || $0.end.clampedAdding(Self.latenessNanoseconds) <= to
        }
    }

    private mutating func take(where isSettled: (Candidate) -> Bool) -> [Hole] {
        guard !isUnreadable else { return [] }
        let settled = candidates.filter(isSettled)
        candidates.removeAll(where: isSettled)
        return settled.compactMap { candidate in
            hole(candidate.numbers, of: candidate.spool, from: candidate.start, to: candidate.end)
        }
    }

    /// Nil if all records were read, or are explained.
    private func hole(
        _ numbers: ClosedRange<UInt64>, of spool: SpoolID, from start: Int64, to end: Int64
    ) -> Hole? {
        var samples: UInt64 = 0
        let explained = source.explained[spool] ?? SequenceSet()
        for part in courses[spool]?.numbers.missing(in: numbers) ?? [numbers] {
            for missing in explained.missing(in: part) {
                samples = samples.clampedAdding(
                    (missing.upperBound - missing.lowerBound).clampedAdding(1))
            }
        }
        guard samples > 0 else { return nil }
        return Hole(samples: samples, startNanoseconds: start, endNanoseconds: end)
    }

    /// Holes before the first and after the last record of each spool.
    private func ends() -> [Hole] {
        let last = courses.values.map(\.newest.end).max() ?? 0
        return source.ranges.sorted { $0.key < $1.key }.flatMap { spool, range -> [Hole?] in
            let first = isFromStart ? range.first : nil
            guard let course = courses[spool] else {
                guard let first, first <= range.last else { return [] }
                return [hole(first...range.last, of: spool, from: last, to: last)]
            }
            var holes: [Hole?] = []
            let (begin, newest) = (course.first, course.newest)
            if let first, first < begin.number {
                holes.append(
                    hole(
                        first...begin.number - 1, of: spool, from: begin.start, to: begin.start))
            }
            if newest.number < range.last {
                holes.append(
                    hole(
                        newest.number + 1...range.last, of: spool, from: newest.end,
                        to: newest.end))
            }
            return holes
        }.compactMap { $0 }
    }
}
