import Archive
import Dispatch
import Logging
import Operations
import Synchronization
import TestRecordings
import TestStores
import Testing
import Threads

@testable import CollectorCore

/// A take-over from a store that does not answer.
@Suite(.timeLimit(.minutes(1))) struct SlowTakeOverTests {
    @Test func `a store that hangs is named as the reason why nothing is recorded`() throws {
        let directory = TemporaryDirectory()
        let (asked, answers) = (Semaphore(value: 0), Semaphore(value: 0))
        let bucket = SimulatedBucket(beforeList: {
            asked.signal()
            answers.wait()
        })
        var settings = CollectorSettings(
            endpoint: "tcp://127.0.0.1:*", archive: directory.path,
            segmentNanoseconds: 1_000_000_000, startAt: .firstSample, startWindowNanoseconds: 0,
            endsWithSession: false, changeable: ChangeableSettings(idleTimeoutNanoseconds: 0),
            software: "test")
        settings.release = .stored
        settings.store = StoreSettings(bucket: bucket)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let collector = try Collector(settings: settings, logger: logger) { _ in }
        let ended = Semaphore(value: 0)
        let thread = JoinableThread()
        thread.start("collector") {
            do {
                _ = try collector.run()
            } catch {
                Issue.record(error)
            }
            ended.signal()
        }
        #expect(asked.wait(timeout: .now() + .seconds(20)) == .success)
        let obstacle = "waiting for \(bucket.name)"
        #expect(collector.board.readiness.text == "starting: \(obstacle)")
        #expect(collector.board.view.obstacle == obstacle)
        collector.stop(endsSession: true)
        answers.signal()
        #expect(ended.wait(timeout: .now() + .seconds(20)) == .success)
        thread.join()
    }

    @Test(arguments: [true, false])
    func `work that takes long is announced once`(_ isLong: Bool) throws {
        let announced = Mutex(0)
        let isAnnounced = Semaphore(value: 0)
        let notice = LateNotice { ended in
            guard !isLong else { return true }
            ended.wait()
            return false
        }
        let result = notice.during(
            say: {
                announced.withLock { $0 += 1 }
                isAnnounced.signal()
            },
            {
                // The line does not wait for the end of the work.
                isLong ? isAnnounced.wait(timeout: .now() + .seconds(20)) == .success : true
            })
        #expect(result)
        #expect(announced.withLock { $0 } == (isLong ? 1 : 0))
    }
}
