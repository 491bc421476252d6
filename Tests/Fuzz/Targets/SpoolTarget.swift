import Glibc
import Spooling
import TestSpools

/// A spool's operations as a script: records are added and removed, the disk rots, fills up and fails, the process is
/// killed, the power is cut. Read records equal the written ones or are reported missing; sequences have no holes.
enum SpoolTarget {
    static func run(_ bytes: [UInt8]) {
        scan(bytes)
        var script = SpoolScript(bytes)
        script.run()
    }

    /// Scans arbitrary bytes as a file.
    private static func scan(_ bytes: [UInt8]) {
        guard let scan = SpoolScan(bytes) else { return }
        var next: UInt64?
        for item in scan.items {
            let numbers: ClosedRange<UInt64>
            switch item {
            case .record(let record):
                precondition(record.body.upperBound <= bytes.count)
                numbers = record.numbers
            case .missing(let range, _): numbers = range
            }
            precondition(next == nil || next == numbers.lowerBound)
            next = numbers.upperBound &+ 1
        }
    }
}

private struct SpoolScript {
    private static let limitBytes = 1 << 20
    private static let mostSteps = 200
    private static let mostBodyBytes: UInt16 = 9_000

    private var input: InputReader
    private let disk: SimulatedDisk
    private var shelf: SpoolSet?
    /// The generation that is written.
    private var generation: UInt32 = 0
    private var identities: UInt8 = 0
    /// Written records, by identity and first sequence.
    private var written: [[UInt8]: [UInt64: [UInt8]]] = [:]
    private var now: Int64 = 0

    init(_ bytes: [UInt8]) {
        input = InputReader(bytes)
        disk = SimulatedDisk(seed: UInt64(input.number()))
    }

    mutating func run() {
        open(afterPowerCut: false)
        for _ in 0..<Self.mostSteps where !input.isAtEnd { step() }
        open(afterPowerCut: false)
        readAll()
    }

    private mutating func step() {
        now += Int64(input.byte()) * 100_000_000
        switch input.byte() % 12 {
        case 0...3: append()
        case 4: release()
        case 5: drop()
        case 6: rot()
        case 7:
            disk.stop(afterOperations: Int(input.byte() % 8) + 1)
        case 8: open(afterPowerCut: input.byte() % 2 == 0)
        case 9:
            let size = input.byte()
            disk.setCapacity(size == 0 ? nil : Int(size) * 2_000)
        case 10:
            guard let names = shelf?.takeUnsynced() else { return }
            attempt { () throws(SpoolError) in try disk.synchronize(names) }
        default: readAll()
        }
    }

    /// The disk may fail any operation; successful ones count.
    @discardableResult
    private func attempt(_ body: () throws(SpoolError) -> Void) -> Bool {
        do throws(SpoolError) {
            try body()
            return true
        } catch {
            precondition(!error.description.isEmpty)
            return false
        }
    }

    /// Restarts the process.
    private mutating func open(afterPowerCut: Bool) {
        disk.setCapacity(nil)
        if afterPowerCut { disk.cutPower() } else { disk.restart() }
        shelf = nil
        attempt { () throws(SpoolError) in
            shelf = try SpoolSet(storage: disk, limitBytes: Self.limitBytes)
        }
        guard let last = shelf?.spools.last, !afterPowerCut, last.isTailCertain else {
            return begin()
        }
        generation = last.generation
    }

    private mutating func begin() {
        identities &+= 1
        let identity = [identities] + [UInt8](repeating: 7, count: 15)
        // A repeated identity would not be a bug; a script has fewer than 255.
        written[identity] = [:]
        generation =
            shelf?.begin(identity: identity, origin: [UInt8](repeating: 2, count: 16)) ?? 0
    }

    private mutating func append() {
        guard let spool = shelf?.spool(generation) else { return }
        let count = UInt32(input.byte() % 5) + 1
        let flags = input.byte()
        let size = Int(input.number() % Self.mostBodyBytes)
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: spool.nextNumber), count: size)
        let record = SpoolSet.NewRecord(
            firstNumber: spool.nextNumber, count: count, kind: UInt16(flags >> 4),
            beginsGroup: flags % 2 == 0)
        let isDone = body.withUnsafeBytes { body in
            attempt { () throws(SpoolError) in
                try shelf?.append(
                    record, body: [body], to: generation, staysShort: flags % 4 < 2, now: now,
                    preamble: { [9, 9, 9] })
            }
        }
        if isDone {
            written[spool.identity]?[spool.nextNumber] = body
        } else {
            // Later records belong to another spool, as in an agent.
            begin()
        }
    }

    private mutating func release() {
        guard let spool = shelf?.spool(generation) else { return }
        let number = spool.firstNumber + UInt64(input.byte())
        attempt { () throws(SpoolError) in
            try shelf?.release(generation, through: min(number, spool.nextNumber - 1))
        }
    }

    private mutating func drop() {
        guard let spool = shelf?.spool(generation), let group = spool.oldestGroup(from: 1) else {
            return
        }
        var rest = spool.substitutes.filter { !$0.numbers.overlaps(group.numbers) }
        rest.append(Spool.Substitute(numbers: group.numbers, kind: 3, body: [1, 2, 3]))
        rest.sort { $0.numbers.lowerBound < $1.numbers.lowerBound }
        attempt { () throws(SpoolError) in
            try shelf?.replace(group, of: generation, with: rest, preamble: [9])
        }
    }

    private mutating func rot() {
        var names: [String] = []
        attempt { () throws(SpoolError) in names = try disk.names().sorted() }
        guard !names.isEmpty else { return }
        let name = names[Int(input.byte()) % names.count]
        if input.byte() == 0 { return disk.makeUnreadable(name) }
        disk.rot(name, byte: Int(input.number()), bit: Int(input.byte() % 8))
    }

    /// Every sequence occurs once, as written or as missing.
    private func readAll() {
        guard let shelf else { return }
        for spool in shelf.spools {
            var number = spool.firstNumber
            while number < spool.nextNumber {
                var items: [SpoolContents.Item] = []
                attempt { () throws(SpoolError) in
                    items = try shelf.contents(of: spool.generation, at: number)?.items ?? []
                }
                for item in items {
                    guard case .record(let numbers, let kind, let body) = item, kind != 3 else {
                        continue
                    }
                    if let truth = written[spool.identity]?[numbers.lowerBound] {
                        precondition(body.elementsEqual(truth), "not what was written")
                    }
                }
                let last =
                    items.last { $0.numbers.upperBound >= number }?.numbers.upperBound
                    ?? shelf.unreadable(of: spool.generation, from: number)?.upperBound
                guard let last, last >= number else {
                    preconditionFailure("\(number) of \(spool.nextNumber) is nowhere")
                }
                number = last + 1
            }
        }
    }
}
