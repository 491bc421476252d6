/// The state of one spool's files: a value that is rebuilt from the files at every start.
package struct Spool: Hashable, Sendable {
    /// A file of the spool.
    struct File: Hashable, Sendable {
        var number: UInt32
        /// From its first record to the start of the next file.
        var numbers: Range<UInt64>
        var sizeBytes: Int
        var beginsGroup: Bool
        var salt: UInt32
    }

    /// A record that replaces others that were dropped.
    package struct Substitute: Hashable, Sendable {
        package var numbers: ClosedRange<UInt64>
        package var kind: UInt16
        package var body: [UInt8]

        package init(numbers: ClosedRange<UInt64>, kind: UInt16, body: [UInt8]) {
            self.numbers = numbers
            self.kind = kind
            self.body = body
        }
    }

    /// Complete files that can be dropped together: no remaining record depends on them.
    package struct Group: Hashable, Sendable {
        package let numbers: ClosedRange<UInt64>
        let files: Range<Int>
        /// Whether it includes the newest record, so that the next records depend on it.
        package let isNewest: Bool
    }

    /// Its position among the directory's spools.
    package let generation: UInt32
    /// 16 bytes: the identity that numbers the records.
    package let identity: [UInt8]
    /// 16 bytes of the caller's: the context in which the records were written.
    package let origin: [UInt8]
    var files: [File] = []
    package internal(set) var substitutes: [Substitute] = []
    var substituteBytes = 0
    /// The number of the next record.
    package internal(set) var nextNumber: UInt64 = 1
    /// Whether every record that was ever written is known: not after a power cut, and not when the newest file is damaged.
    package internal(set) var isTailCertain = true
    /// When the newest file was begun, on the caller's clock; nil: it is from an earlier run, and no longer written.
    var activeSince: Int64?
    var nextFile: UInt32 = 0

    /// The oldest number in the spool, or the next one to be written.
    package var firstNumber: UInt64 {
        let file = files.first?.numbers.lowerBound ?? nextNumber
        return min(file, substitutes.first?.numbers.lowerBound ?? file)
    }

    /// Total size of its files.
    package var sizeBytes: Int { files.reduce(substituteBytes) { $0 + $1.sizeBytes } }

    /// The size of the records from a number on. In the file that contains the number, bytes are assumed to be spread evenly over
    /// its numbers: the position of each record is only determined when it is read.
    package func sizeBytes(from number: UInt64) -> Int {
        files.reduce(0) { total, file in
            if file.numbers.lowerBound >= number { return total + file.sizeBytes }
            guard number < file.numbers.upperBound else { return total }
            let share =
                Double(file.numbers.upperBound - number) / Double(file.numbers.count)
            return total + Int(Double(file.sizeBytes) * share)
        }
    }

    /// Numbers of the oldest file's records, if it can be deleted alone; nil: it is the only file, which keeps the next number.
    package var oldestReleasable: ClosedRange<UInt64>? {
        guard files.count > 1, let numbers = files.first?.numbers else { return nil }
        return numbers.lowerBound...max(numbers.lowerBound, numbers.upperBound - 1)
    }

    var fileNames: [String] { files.map { SpoolName.file(generation, $0.number) } }

    /// The oldest group without a number before `number`.
    package func oldestGroup(from number: UInt64) -> Group? {
        guard let first = files.firstIndex(where: { $0.numbers.lowerBound >= number }) else {
            return nil
        }
        var end = first + 1
        while end < files.count, !files[end].beginsGroup,
            files[end].numbers.lowerBound == files[end - 1].numbers.upperBound
        {
            end += 1
        }
        return Group(
            numbers: files[first].numbers.lowerBound...files[end - 1].numbers.upperBound - 1,
            files: first..<end, isNewest: end == files.count)
    }
}

/// Names of a spool's files: `0000000a-00000003.spool`, in hexadecimal.
enum SpoolName: Hashable {
    case file(generation: UInt32, number: UInt32)
    case substitutes(generation: UInt32)
    /// Marks that the spool exists, until it has ended: its other files come and go.
    case mark(generation: UInt32)

    static let suffix = ".spool"
    /// Suffix of a file that is being written, before it replaces another one.
    static let temporarySuffix = ".new"

    init?(_ name: String) {
        guard name.hasSuffix(Self.suffix) else { return nil }
        let parts = name.dropLast(Self.suffix.count).split(
            separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 8,
            let generation = UInt32(parts[0], radix: 16), generation < .max
        else { return nil }
        if parts[1] == "dropped" {
            self = .substitutes(generation: generation)
        } else if parts[1] == "begun" {
            self = .mark(generation: generation)
        } else if parts[1].utf8.count == 8, let number = UInt32(parts[1], radix: 16) {
            self = .file(generation: generation, number: number)
        } else {
            return nil
        }
    }

    static func file(_ generation: UInt32, _ number: UInt32) -> String {
        "\(hexadecimal(generation))-\(hexadecimal(number))\(suffix)"
    }

    static func substitutes(_ generation: UInt32) -> String {
        "\(hexadecimal(generation))-dropped\(suffix)"
    }

    static func mark(_ generation: UInt32) -> String {
        "\(hexadecimal(generation))-begun\(suffix)"
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}
