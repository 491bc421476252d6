import Glibc
import Testing
import TestSpools

@testable import Spooling

struct `A spool` {
    private func filled(
        _ records: Int, limitBytes: Int = 1 << 20, seed: UInt64 = 1
    ) throws -> Shelf {
        var shelf = try Shelf(SimulatedDisk(seed: seed), limitBytes: limitBytes)
        shelf.begin()
        for _ in 0..<records { try shelf.append() }
        return shelf
    }

    @Test func `gives back the records, also after a restart`() throws {
        let shelf = try filled(300)
        #expect(try shelf.readAll(from: 1).records == Set(1...300))
        let again = try Shelf(shelf.disk)
        #expect(again.shelf.spools.map(\.identity) == [Shelf.identity])
        #expect(again.shelf.spools.map(\.origin) == [Shelf.origin])
        #expect(again.shelf.spools.map(\.nextNumber) == [301])
        #expect(again.shelf.spools.map(\.isTailCertain) == [true])
        #expect(again.shelf.complaints == [])
        #expect(try again.readAll(from: 1).records == Set(1...300))
        #expect(try again.readAll(from: 150).records.isSuperset(of: Set(150...300)))
        #expect(try again.shelf.firstPreamble(of: again.generation) == Array("p".utf8))
    }

    @Test func `deletes files whole when everything in them is persisted, and never the newest`()
        throws
    {
        var shelf = try filled(300)
        let before = shelf.shelf.sizeBytes
        try shelf.shelf.release(shelf.generation, through: 150)
        #expect(shelf.shelf.sizeBytes < before * 7 / 10)
        #expect(try shelf.readAll(from: 151).records.isSuperset(of: Set(151...300)))
        try shelf.shelf.release(shelf.generation, through: 300)
        #expect(try shelf.files().count == 1)
        let again = try Shelf(shelf.disk)
        #expect(again.next == 301)
        try shelf.shelf.remove(shelf.generation)
        #expect(try shelf.disk.names() == [])
        #expect(shelf.shelf.sizeBytes == 0)
    }

    @Test func `counts the bytes of the records from a number on`() throws {
        let shelf = try filled(300)
        let spool = try #require(shelf.shelf.spools.first)
        #expect(spool.sizeBytes(from: 1) == spool.sizeBytes)
        #expect(spool.sizeBytes(from: 301) == 0)
        // Records have equal sizes; a file's header is divided among them.
        let half = Double(spool.sizeBytes(from: 151)) / Double(spool.sizeBytes)
        #expect(abs(half - 0.5) < 0.05, "\(half)")
        let sizes = (1...301).map { spool.sizeBytes(from: UInt64($0)) }
        #expect(zip(sizes, sizes.dropFirst()).allSatisfy { $0 > $1 })
    }

    @Test func `begins a file at a group, before it is twice as large as it should be`() throws {
        let shelf = try filled(1_000)
        let spool = try #require(shelf.shelf.spools.first)
        #expect(spool.files.count > 10)
        for file in spool.files {
            #expect(file.beginsGroup)
            #expect((file.numbers.lowerBound - 1) % 10 == 0)
            #expect(file.sizeBytes < 100_000)
        }
        var large = try Shelf(SimulatedDisk(seed: 1))
        large.begin()
        for _ in 0..<9 { try large.append(bytes: 100_000) }
        #expect(large.shelf.spools[0].files.count > 3)
        #expect(large.shelf.spools[0].files.dropFirst().allSatisfy { !$0.beginsGroup })
    }

    @Test func `continues after a kill within any write`() throws {
        for operation in 1...40 {
            let disk = SimulatedDisk(seed: UInt64(operation))
            var shelf = try Shelf(disk)
            shelf.begin()
            disk.stop(afterOperations: operation)
            while true {
                do { try shelf.append(count: 3) } catch { break }
            }
            let written = shelf.next - 1
            disk.restart()
            var again = try Shelf(disk)
            if written == 0 && again.shelf.spools.isEmpty { continue }
            #expect(again.shelf.complaints == [])
            #expect(again.shelf.spools.map(\.isTailCertain) == [true])
            // The last write may have been whole after all.
            #expect(again.next == written + 1 || again.next == written + 4)
            let next = again.next
            for _ in 0..<40 { try again.append(count: 3) }
            let everything = try again.readAll(from: 1)
            #expect(everything.records == Set(1..<next + 120) && everything.missing == [])
        }
    }

    @Test func `is recognised after a power cut by its mark`() throws {
        let disk = SimulatedDisk(seed: 5)
        var shelf = try Shelf(disk)
        shelf.begin()
        try shelf.append()
        try shelf.synchronize()
        // The collector is prompt: synchronised records are deleted, new ones are not synchronised.
        for _ in 0..<300 {
            try shelf.append()
            try shelf.shelf.release(shelf.generation, through: shelf.next - 1)
        }
        #expect(shelf.shelf.spools[0].files.map(\.number).min() ?? 0 > 0)
        disk.cutPower()
        var again = try Shelf(disk)
        #expect(again.shelf.newestGenerationFound == 1)
        again.begin()
        #expect(again.generation > 1)
        try again.append()
        let generations: [UInt32] = again.shelf.spool(1) == nil ? [2] : [1, 2]
        #expect(
            try disk.names().filter { $0.contains("begun") }.sorted()
                == generations.map { "0000000\($0)-begun.spool" })
        // One that ends in order leaves nothing.
        try again.shelf.remove(again.generation)
        #expect(try disk.names().filter { $0.contains("00000002") } == [])
    }

    @Test func `files of a killed process are synchronised by the next one`()
        throws
    {
        let left = try filled(120, seed: 3)
        var next = try Shelf(left.disk)
        #expect(next.shelf.hasUnsynced)
        try next.synchronize()
        #expect(!next.shelf.hasUnsynced)
        left.disk.cutPower()
        let again = try Shelf(left.disk)
        #expect(try again.readAll(from: 1).records == Set(1...120))
    }

    @Test func `keeps synchronised records through a power cut, and invents none`() throws {
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let disk = SimulatedDisk(seed: seed)
            var shelf = try Shelf(disk)
            shelf.begin()
            var synced: UInt64 = 0
            var released: UInt64 = 0
            disk.stop(afterOperations: .random(in: 1...400, using: &random))
            while true {
                do {
                    switch Int.random(in: 0..<30, using: &random) {
                    case 0:
                        let newest = shelf.next - 1
                        try shelf.synchronize()
                        synced = newest
                    case 1 where shelf.next > 1:
                        let through = UInt64.random(in: released...shelf.next - 1, using: &random)
                        released = through
                        try shelf.shelf.release(shelf.generation, through: through)
                    default:
                        try shelf.append(bytes: .random(in: 1...9_000, using: &random))
                    }
                } catch {
                    break
                }
            }
            let newest = shelf.next
            disk.cutPower()
            let again = try Shelf(disk)
            guard let spool = again.shelf.spools.first else {
                #expect(synced <= released, "seed \(seed)")
                continue
            }
            #expect(released >= synced || spool.firstNumber <= released + 1, "seed \(seed)")
            #expect(spool.nextNumber <= newest + 1, "seed \(seed)")
            let found = try again.readAll(from: spool.firstNumber)
            if released < synced {
                #expect(
                    found.records.isSuperset(of: Set(released + 1...synced)), "seed \(seed)")
            }
            #expect(found.records.isDisjoint(with: found.missing), "seed \(seed)")
        }
    }

    @Test func `skips a damaged record, and states its number`() throws {
        let shelf = try filled(40)
        let name = try #require(try shelf.disk.names().sorted().first)
        // Somewhere in the fifth record's body.
        shelf.disk.rot(name, byte: 80 + 4 * 2_032 + 500, bit: 3)
        let found = try Shelf(shelf.disk).readAll(from: 1)
        #expect(found.missing == [5])
        #expect(found.records == Set(1...40).subtracting([5]))
    }

    @Test func `finds the next record after a damaged header`() throws {
        let shelf = try filled(40)
        let name = try #require(try shelf.disk.names().sorted().first)
        for record in [4, 5, 20] { shelf.disk.rot(name, byte: 80 + record * 2_032 + 9) }
        let found = try Shelf(shelf.disk).readAll(from: 1)
        #expect(found.missing == [5, 6, 21])
        #expect(found.records == Set(1...40).subtracting([5, 6, 21]))
    }

    @Test func `loses a file whose header is damaged, with a complaint`() throws {
        let shelf = try filled(300)
        let names = try shelf.disk.names().sorted()
        let lost = Set(shelf.shelf.spools[0].files[1].numbers)
        shelf.disk.rot(names[1], byte: 20)
        let again = try Shelf(shelf.disk)
        #expect(again.shelf.complaints.count == 1)
        #expect(again.shelf.spools[0].isTailCertain)
        let found = try again.readAll(from: 1)
        #expect(found.missing == lost)
        #expect(found.records == Set(1...300).subtracting(lost))
    }

    @Test func `states that its newest number is uncertain if the newest file is damaged`() throws {
        let shelf = try filled(40)
        let name = try #require(try shelf.files().last)
        let size = shelf.disk.bytes(of: name).count
        shelf.disk.rot(name, byte: size - 2_032 + 9)
        #expect(try Shelf(shelf.disk).shelf.spools[0].isTailCertain == false)
    }

    @Test func `a file that cannot be read is damage, and not the end`() throws {
        let shelf = try filled(300)
        let names = try shelf.disk.names().sorted()
        shelf.disk.makeUnreadable(names[2])
        #expect(throws: SpoolError.self) {
            try shelf.shelf.contents(
                of: shelf.generation, at: shelf.shelf.spools[0].files[2].numbers.lowerBound)
        }
        #expect(
            try shelf.shelf.contents(
                of: shelf.generation, at: shelf.shelf.spools[0].files[3].numbers.lowerBound) != nil)
    }

    @Test func `a full disk is an error that leaves everything before it readable`() throws {
        let disk = SimulatedDisk(seed: 5)
        var shelf = try Shelf(disk)
        shelf.begin()
        disk.setCapacity(100_000)
        var failure: SpoolError?
        while failure == nil {
            do { try shelf.append() } catch { failure = error }
        }
        guard case .system(_, _, ENOSPC)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        let written = shelf.next - 1
        #expect(try shelf.readAll(from: 1).records == Set(1...written))
        disk.setCapacity(nil)
        try shelf.append()
        #expect(try shelf.readAll(from: 1).records == Set(1...written + 1))
        #expect(try Shelf(disk).readAll(from: 1).records == Set(1...written + 1))
    }

    @Test func `several spools stay apart, oldest first`() throws {
        var shelf = try filled(30)
        let first = shelf.generation
        shelf.begin()
        #expect(shelf.generation > first)
        for _ in 0..<20 { try shelf.append() }
        var again = try Shelf(shelf.disk)
        #expect(again.shelf.spools.map(\.nextNumber) == [31, 21])
        try again.shelf.remove(first)
        #expect(try Shelf(shelf.disk).shelf.spools.map(\.nextNumber) == [21])
    }
}

struct `Dropping groups from a spool` {
    private func dropped(_ disk: SimulatedDisk, from number: UInt64 = 1) throws -> Shelf {
        var shelf = try Shelf(disk)
        shelf.begin()
        for _ in 0..<300 { try shelf.append() }
        try shelf.synchronize()
        return shelf
    }

    private func drop(
        _ shelf: inout Shelf, from number: UInt64
    ) throws(SpoolError) -> ClosedRange<UInt64> {
        guard let group = shelf.shelf.spools[0].oldestGroup(from: number) else {
            preconditionFailure("there is a group")
        }
        try shelf.shelf.replace(
            group, of: shelf.generation,
            with: [
                .init(
                    numbers: group.numbers, kind: 2,
                    body: Shelf.body(group.numbers.lowerBound, bytes: 99))
            ],
            preamble: [])
        return group.numbers
    }

    @Test func `replaces them by one substitute, also after a restart`() throws {
        var shelf = try dropped(SimulatedDisk(seed: 3))
        let size = shelf.shelf.sizeBytes
        let numbers = try drop(&shelf, from: 5)
        #expect(numbers.lowerBound > 5 && (numbers.upperBound) % 10 == 0)
        #expect(shelf.shelf.sizeBytes < size - 60_000)
        let again = try Shelf(shelf.disk)
        #expect(again.shelf.spools == shelf.shelf.spools.map(asRecovered))
        for shelf in [shelf, again] {
            let found = try shelf.readAll(from: 1)
            #expect(found.records == Set(1...300) && found.missing == [])
            let contents = try shelf.shelf.contents(of: shelf.generation, at: numbers.lowerBound)
            guard case .record(numbers, kind: 2, _)? = contents?.items.first else {
                Issue.record("no substitute")
                return
            }
        }
    }

    private func asRecovered(_ spool: Spool) -> Spool {
        var spool = spool
        spool.activeSince = nil
        return spool
    }

    @Test func `keeps the numbers known if all groups are dropped`() throws {
        var shelf = try dropped(SimulatedDisk(seed: 3))
        while shelf.shelf.spools[0].oldestGroup(from: 1) != nil {
            let all = shelf.shelf.spools[0]
            try shelf.shelf.replace(
                try #require(all.oldestGroup(from: 1)), of: shelf.generation,
                with: [
                    .init(
                        numbers: 1...(try #require(all.oldestGroup(from: 1))).numbers.upperBound,
                        kind: 2, body: [1])
                ],
                preamble: [1, 2])
        }
        var again = try Shelf(shelf.disk)
        #expect(again.next == 301)
        #expect(try again.shelf.firstPreamble(of: again.generation) == [1, 2])
        try again.append()
        #expect(try Shelf(shelf.disk).next == 302)
        // A substitute that everything has passed is let go of, once a file knows the numbers.
        try again.shelf.release(again.generation, through: 300)
        #expect(try shelf.files().count == 1)
    }

    @Test func `is atomic at any power cut`() throws {
        for operation in 1...12 {
            for seed in 0..<6 as Range<UInt64> {
                let disk = SimulatedDisk(seed: seed)
                var shelf = try dropped(disk)
                let group = try #require(shelf.shelf.spools[0].oldestGroup(from: 5))
                disk.stop(afterOperations: operation)
                do { _ = try drop(&shelf, from: 5) } catch {}
                disk.cutPower()
                let again = try Shelf(disk)
                let found = try again.readAll(from: 1)
                #expect(found.records == Set(1...300), "seed \(seed), operation \(operation)")
                let contents = try again.shelf.contents(
                    of: again.generation, at: group.numbers.lowerBound)
                let kind: UInt16? =
                    if case .record(_, let kind, _)? = contents?.items.first { kind } else { nil }
                #expect(kind == 1 || kind == 2)
                if case .record(let numbers, kind: 2, _)? = contents?.items.first {
                    #expect(numbers == group.numbers)
                }
            }
        }
    }
}
