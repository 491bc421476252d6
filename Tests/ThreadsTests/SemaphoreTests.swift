import Dispatch
import Synchronization
import Testing
import Threads

@Suite struct SemaphoreTests {
    @Test func `each signal ends one wait`() {
        let semaphore = Semaphore(value: 1)
        semaphore.signal()
        #expect(semaphore.wait(timeout: .now()) == .success)
        semaphore.wait()
        #expect(semaphore.wait(timeout: .now()) == .timedOut)
        #expect(semaphore.wait(timeout: .now() - .seconds(5)) == .timedOut)
    }

    @Test func `a wait without a signal ends at its deadline`() {
        let deadline = DispatchTime.now() + .milliseconds(50)
        #expect(Semaphore(value: 0).wait(timeout: deadline) == .timedOut)
        #expect(DispatchTime.now() >= deadline)
    }

    @Test func `threads take each signal once`() {
        let work = Semaphore(value: 0)
        let done = Semaphore(value: 0)
        let taken = Mutex(0)
        for index in 0..<8 {
            NamedThread.start("taker-\(index)") {
                for turn in 0..<1_000 {
                    if turn % 2 == 0 {
                        work.wait()
                    } else {
                        while work.wait(timeout: .now() + .milliseconds(1)) == .timedOut {}
                    }
                    taken.withLock { $0 += 1 }
                }
                done.signal()
            }
        }
        for _ in 0..<8_000 { work.signal() }
        for _ in 0..<8 { done.wait() }
        #expect(taken.withLock { $0 } == 8_000)
        #expect(work.wait(timeout: .now()) == .timedOut)
    }

    @Test func `a wait without an end ends by a signal`() {
        let semaphore = Semaphore(value: 0)
        NamedThread.start("signaller") { semaphore.signal() }
        #expect(semaphore.wait(timeout: .distantFuture) == .success)
    }
}
