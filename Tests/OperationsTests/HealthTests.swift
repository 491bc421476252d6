import Synchronization
import Testing

@testable import Operations

@Suite struct HealthTests {
    /// A clock that a test sets.
    private final class Clock: Sendable {
        let seconds = Mutex<Int64>(100)
        func move(to value: Int64) { seconds.withLock { $0 = value } }
    }

    private let clock = Clock()
    private var board: StatusBoard {
        .at { [clock] in clock.seconds.withLock { $0 } }
    }

    @Test func `before it listens it is alive and not ready`() {
        let board = board
        #expect(board.liveness == HealthAnswer(isWell: true, text: "starting"))
        #expect(!board.readiness.isWell)
        #expect(board.metrics.contains("tributary_ready 0\n"))
    }

    @Test func `the reason why it does not listen yet is in the status`() throws {
        let board = board
        #expect(board.view.trouble == "the collector is starting")
        board.waiting(for: "waiting for s3://recordings/stage")
        #expect(board.readiness.text == "starting: waiting for s3://recordings/stage")
        let view = try SiteView(decoding: board.view.encoded())
        let line = "the collector is starting: waiting for s3://recordings/stage"
        #expect(view.trouble == line)
        #expect(
            TopScreen(view, place: "x").lines().contains {
                $0.text == "NOT RECORDING: \(line)" && $0.emphasis == .alarming
            })
        board.waiting(for: nil)
        #expect(board.view.trouble == "the collector is starting")
    }

    @Test func `without progress of the receiving thread it is neither alive nor ready`() {
        let board = board
        board.publish(.full)
        clock.move(to: 115)
        #expect(board.liveness.isWell)
        #expect(board.readiness == HealthAnswer(isWell: true, text: "1 source connected"))
        clock.move(to: 116)
        #expect(!board.liveness.isWell)
        #expect(board.liveness.text.contains("16 s"))
        #expect(!board.readiness.isWell)
        #expect(board.metrics.contains("tributary_progress_age_seconds 16\n"))
        board.publish(.full)
        #expect(board.liveness.isWell && board.readiness.isWell)
    }

    @Test func `without a writable disk it is alive, and not ready with the reason`() {
        let board = board
        var status = CollectorStatus.full
        status.trouble = "there is no room on the disk"
        board.publish(status)
        #expect(board.liveness.isWell)
        #expect(
            board.readiness
                == HealthAnswer(isWell: false, text: "not recording: there is no room on the disk"))
        status.trouble = nil
        status.disk.busySeconds = 31
        board.publish(status)
        #expect(board.liveness.isWell)
        #expect(!board.readiness.isWell)
        status.disk.busySeconds = 30
        board.publish(status)
        #expect(board.readiness.isWell)
    }

    @Test func `a drained collector is not ready, and records`() {
        let board = board
        var status = CollectorStatus.full
        status.isDraining = true
        board.publish(status)
        #expect(board.liveness.isWell)
        #expect(
            board.readiness
                == HealthAnswer(
                    isWell: false,
                    text:
                        "drained: agents that have another collector are sent there; 1 source connected"
                ))
        // An alert for a collector that records nothing would be wrong.
        #expect(board.metrics.contains("tributary_ready 1\n"))
        #expect(board.view.isReady && board.view.trouble == nil && board.view.isDraining == true)
        status.trouble = "there is no room on the disk"
        board.publish(status)
        #expect(board.readiness.text == "not recording: there is no room on the disk")
        #expect(!board.view.isReady)
    }

    @Test func `it is alive while it finishes files, without a limit`() {
        let board = board
        board.publish(.full)
        board.stopping()
        clock.move(to: 1_000)
        #expect(board.liveness.isWell)
        #expect(!board.readiness.isWell)
    }
}
