import Testing
import TestSpools

@testable import Spooling

struct `Recovery of a file` {
    private func file() throws -> [UInt8] {
        var shelf = try Shelf(SimulatedDisk(seed: 1))
        shelf.begin()
        for number in 0..<20 { try shelf.append(count: 2, bytes: 50 * number) }
        return shelf.disk.bytes(of: try shelf.disk.names()[0])
    }

    @Test func `finds the whole records of a file that was cut anywhere`() throws {
        let bytes = try file()
        var last = 0
        for size in stride(from: 0, through: bytes.count, by: 7) + [bytes.count] {
            guard let scan = SpoolScan(Array(bytes[..<size])) else {
                #expect(size < 80)
                continue
            }
            #expect(scan.damages == 0 && scan.tail != .damaged)
            #expect(scan.items.count >= last && scan.items.count - last <= 1)
            last = scan.items.count
            #expect((scan.tail == .whole) == (scan.endBytes >= size))
        }
        #expect(last == 20)
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `accepts any bytes, and finds only records that were written`(seed: UInt64) throws {
        let original = try file()
        let whole = try #require(SpoolScan(original))
        let sound = Set(whole.items)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 16))
                case 2:
                    bytes.replaceSubrange(
                        place..<min(bytes.count, place + 40), with: [UInt8](repeating: 0, count: 40)
                    )
                default: bytes.insert(contentsOf: bytes[place...].prefix(64), at: place)
                }
            }
            guard let scan = SpoolScan(bytes) else { continue }
            var next = whole.header.firstNumber
            for item in scan.items {
                switch item {
                case .record(let record):
                    #expect(record.numbers.lowerBound == next, "seed \(seed)")
                    next = record.numbers.upperBound + 1
                    let known = sound.contains { item in
                        guard case .record(let other) = item else { return false }
                        return other.numbers == record.numbers
                            && original[other.body] == bytes[record.body]
                    }
                    #expect(known, "seed \(seed)")
                case .missing(let numbers, _):
                    #expect(numbers.lowerBound == next, "seed \(seed)")
                    next = numbers.upperBound + 1
                }
            }
            #expect(next == scan.nextNumber, "seed \(seed)")
        }
        _ = SpoolScan((0..<500).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    @Test func `ignores records of another file`() throws {
        let bytes = try file()
        var shelf = try Shelf(SimulatedDisk(seed: 2))
        shelf.generation = shelf.shelf.begin(
            identity: [UInt8](repeating: 3, count: 16), origin: Shelf.origin)
        try shelf.append()
        let other = shelf.disk.bytes(of: try shelf.disk.names()[0])
        let scan = try #require(SpoolScan(other + bytes[80...]))
        #expect(scan.items.count == 1)
        #expect(scan.tail == .damaged)
    }
}

struct `When to synchronise` {
    private static let second: Int64 = 1_000_000_000

    @Test func `once for the first record, so that a power cut leaves a trace`() {
        var policy = SyncPolicy()
        let empty = policy.decide(newest: 0, persisted: 0, hasUnsynced: false, now: 0)
        #expect(!empty)
        let first = policy.decide(newest: 1, persisted: 0, hasUnsynced: true, now: Self.second / 10)
        #expect(first)
    }

    @Test func `not again while the collector persists within seconds`() {
        var policy = SyncPolicy()
        let first = policy.decide(newest: 1, persisted: 0, hasUnsynced: true, now: 0)
        #expect(first)
        for step in 0..<1_000 as Range<UInt64> {
            let decided = policy.decide(
                newest: step + 1, persisted: step > 20 ? step - 20 : 0, hasUnsynced: true,
                now: Int64(step) * Self.second / 10)
            #expect(!decided)
        }
    }

    @Test func `every second while the collector persists nothing`() {
        var policy = SyncPolicy()
        var times: [Int64] = []
        for step in 0..<200 as Range<UInt64> {
            let now = Int64(step) * Self.second / 10
            if policy.decide(newest: step + 1, persisted: 0, hasUnsynced: true, now: now) {
                times.append(now)
            }
        }
        #expect(times.first == 0)
        let late = times.dropFirst()
        #expect(late.first == SyncPolicy.promptNanoseconds)
        #expect(late.count == 17)
        #expect(zip(late, late.dropFirst()).allSatisfy { $1 - $0 == Self.second })
    }

    @Test func `not without new records, and not after the collector is prompt again`() {
        var policy = SyncPolicy()
        _ = policy.decide(newest: 5, persisted: 0, hasUnsynced: true, now: 0)
        let decided = policy.decide(
            newest: 5, persisted: 0, hasUnsynced: false, now: 10 * Self.second)
        #expect(!decided && !policy.isPrompt)
        let after = policy.decide(newest: 6, persisted: 5, hasUnsynced: true, now: 11 * Self.second)
        #expect(!after && policy.isPrompt)
    }
}
