import Testing
import TestSpools

@testable import Spooling

/// A ``SpoolShelf`` on a simulated disk, with one spool of numbered records whose bytes follow from their numbers.
struct Shelf {
    static let identity = [UInt8](repeating: 7, count: 16)
    static let origin = [UInt8](repeating: 9, count: 16)

    let disk: SimulatedDisk
    var shelf: SpoolSet
    var generation: UInt32 = 0
    var now: Int64 = 0

    init(_ disk: SimulatedDisk, limitBytes: Int = 1 << 20) throws(SpoolError) {
        self.disk = disk
        shelf = try SpoolSet(storage: disk, limitBytes: limitBytes)
        if let last = shelf.spools.last { generation = last.generation }
    }

    mutating func begin() {
        generation = shelf.begin(identity: Self.identity, origin: Self.origin)
    }

    /// The content of a record with this number.
    static func body(_ number: UInt64, bytes: Int) -> [UInt8] {
        var random = SeededGenerator(seed: number)
        return (0..<bytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    var next: UInt64 { shelf.spool(generation)?.nextNumber ?? 1 }

    /// Writes one record with `count` numbers; every tenth begins a group.
    mutating func append(count: UInt32 = 1, bytes: Int = 2_000) throws(SpoolError) {
        let number = next
        now += 100_000_000
        let body = Self.body(number, bytes: bytes)
        let half = body.count / 2
        try body.withBytes { body throws(SpoolError) in
            try shelf.append(
                .init(
                    firstNumber: number, count: count, kind: 1,
                    beginsGroup: (number - 1) % 10 == 0),
                body: [
                    UnsafeRawBufferPointer(rebasing: body[..<half]),
                    UnsafeRawBufferPointer(rebasing: body[half...]),
                ],
                to: generation, staysShort: false, now: now, preamble: { Array("p".utf8) })
        }
    }

    /// Its files' names, in their order, without the mark.
    func files() throws(SpoolError) -> [String] {
        try disk.names().filter { !$0.contains("begun") }.sorted()
    }

    mutating func synchronize() throws(SpoolError) {
        try disk.synchronize(shelf.takeUnsynced())
    }

    /// Everything from a number on: records must be as they were written, and numbers without a hole.
    func readAll(
        from first: UInt64, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> (records: Set<UInt64>, missing: Set<UInt64>) {
        var records: Set<UInt64> = []
        var missing: Set<UInt64> = []
        var number = first
        while let contents = try shelf.contents(of: generation, at: number) {
            let before = number
            for item in contents.items where item.numbers.lowerBound >= number {
                #expect(item.numbers.lowerBound == number, sourceLocation: sourceLocation)
                number = item.numbers.upperBound + 1
                switch item {
                case .record(let numbers, _, let body):
                    records.formUnion(numbers)
                    #expect(
                        Array(body) == Self.body(numbers.lowerBound, bytes: body.count),
                        sourceLocation: sourceLocation)
                case .missing(let numbers, _): missing.formUnion(numbers)
                }
            }
            guard number > before else {
                Issue.record("nothing at \(number)", sourceLocation: sourceLocation)
                break
            }
        }
        return (records, missing)
    }
}
