import Dispatch
import HTTPTypes
import Synchronization
import Testing

@testable import ViewerCore

/// Scheduling of threads while some work does not end.
@Suite struct ReadingScheduleTests {
    private static let second: Int64 = 1_000_000_000

    @Test func `work begins in order, on as many threads as there are`() {
        var schedule = ReadingSchedule(count: 2)
        for number in 1...4 { _ = schedule.add(number, place: nil, now: 0) }
        let answer1 = schedule.begin(now: 0)
        #expect(answer1 == 1)
        let answer2 = schedule.begin(now: 0)
        #expect(answer2 == 2)
        let answer3 = schedule.begin(now: 0)
        #expect(answer3 == nil)
        schedule.end(1)
        let answer4 = schedule.begin(now: 0)
        #expect(answer4 == 3)
        let answer5 = schedule.withdraw(4)
        #expect(answer5)
        let answer6 = schedule.withdraw(4)
        #expect(!answer6)
        schedule.end(2)
        schedule.end(3)
        let answer7 = schedule.begin(now: 0)
        #expect(answer7 == nil)
        #expect(schedule.isIdle)
    }

    @Test func `the work of one place leaves a thread to others from the start`() {
        var schedule = ReadingSchedule(count: 4)
        for number in 1...10 { _ = schedule.add(number, place: "hung", now: 0) }
        let answer9 = schedule.add(11, place: "other", now: 0)
        #expect(answer9)
        var begun: [Int] = []
        while let next = schedule.begin(now: 0) { begun.append(next) }
        #expect(begun == [1, 2, 3, 11])
        schedule.end(11)
        let answer10 = schedule.begin(now: 0)
        #expect(answer10 == nil)
    }

    @Test func `a hung place keeps a few threads, and those are replaced`() {
        var schedule = ReadingSchedule(count: 4)
        var now: Int64 = 0
        var last = 0
        // As many requests as one client may have, for a minute.
        for _ in 0..<60 {
            for _ in 0..<10 {
                last += 1
                _ = schedule.add(last, place: "hung", now: now)
            }
            while schedule.begin(now: now) != nil {}
            last += 1
            let answer11 = schedule.add(last, place: "other", now: now)
            #expect(answer11)
            let answer12 = schedule.begin(now: now)
            #expect(answer12 == last)
            schedule.end(last)
            _ = schedule.refuse(now: now)
            now += Self.second
        }
        // All others got that error.
        _ = schedule.refuse(now: now + 10 * Self.second)
        #expect(!schedule.hasWaiting)
        let answer13 = schedule.add(last + 1, place: "hung", now: now)
        #expect(!answer13)
        // It answers again.
        for number in 1...last { schedule.end(number) }
        let answer14 = schedule.add(last + 1, place: "hung", now: now)
        #expect(answer14)
        let answer15 = schedule.begin(now: now)
        #expect(answer15 == last + 1)
    }

    @Test func `work that waits behind hung work is refused after some seconds`() {
        var schedule = ReadingSchedule(count: 4)
        for number in 1...6 { _ = schedule.add(number, place: "hung", now: 0) }
        while schedule.begin(now: 0) != nil {}
        while schedule.begin(now: 2 * Self.second) != nil {}
        let answer17 = schedule.refuse(now: 4 * Self.second)
        #expect(answer17 == [])
        let answer18 = schedule.refuse(now: 6 * Self.second)
        #expect(answer18 == [5, 6])
    }
}

/// The threads themselves.
@Suite struct ReadingThreadsTests {
    @Test func `readers of other sessions are answered while one session's files hang`()
        async throws
    {
        let threads = ReadingThreads()
        let gate = DispatchSemaphore(value: 0)
        let hung = (0..<12).map { _ in
            Task {
                try await ReadingThreads.$place.withValue("hung") {
                    try await threads.run { gate.wait() }
                }
            }
        }
        try await Task.sleep(for: .milliseconds(100))
        // Requests for the hanging session do not block others: otherwise this would not return.
        for _ in 0..<50 {
            let value = try await ReadingThreads.$place.withValue("other") {
                try await threads.run { 7 }
            }
            #expect(value == 7)
        }
        // Some of those time out with an error.
        var refused = 0
        for task in hung.suffix(8) {
            if case .failure(let error) = await task.result {
                #expect((error as? Problem)?.status == .serviceUnavailable)
                refused += 1
            }
        }
        #expect(refused == 8)
        // A cancelled request does not wait for a hanging thread.
        hung[0].cancel()
        await #expect(throws: CancellationError.self) { try await hung[0].value }
        for _ in 0..<12 { gate.signal() }
        for task in hung[1..<4] { try await task.value }
        try await threads.stop()
    }

    @Test func `stopping does not wait for hung work`() async throws {
        let threads = ReadingThreads(count: 1, most: 1)
        let gate = DispatchSemaphore(value: 0)
        let begun = Atomic(false)
        let hung = Task {
            try await threads.run {
                begun.store(true, ordering: .releasing)
                gate.wait()
            }
        }
        while !begun.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
        let waiting = Task { try await threads.run { 1 } }
        try await Task.sleep(for: .milliseconds(50))
        let took = try await ContinuousClock().measure { try await threads.stop() }
        // Without a limit it would wait for ever.
        #expect(took < .seconds(60))
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await #expect(throws: CancellationError.self) { try await threads.run { 1 } }
        gate.signal()
        try await hung.value
    }

    @Test func `errors are thrown to the caller, and threads are reused`() async throws {
        let threads = ReadingThreads(count: 2)
        await #expect(throws: Problem.self) {
            try await threads.run { throw Problem(.notFound, "no") }
        }
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1_000 { group.addTask { try await threads.run { 1 } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 1_000)
        try await threads.stop()
    }
}
