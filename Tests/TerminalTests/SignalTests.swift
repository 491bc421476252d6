import Dispatch
import Glibc
import Testing

@testable import Terminal

@Suite(.serialized) struct SignalTests {
    @Test func `a signal is handled as soon as the watch exists`() throws {
        for _ in 0..<200 {
            let heard = DispatchSemaphore(value: 0)
            let watch = SignalWatch([SIGWINCH]) { number in
                if number == SIGWINCH { heard.signal() }
            }
            kill(getpid(), SIGWINCH)
            try #require(heard.wait(timeout: .now() + .seconds(60)) == .success)
            withExtendedLifetime(watch) {}
        }
    }

    @Test func `several watches get a signal, each until its release`() throws {
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let outer = SignalWatch([SIGWINCH]) { _ in first.signal() }
        do {
            let inner = SignalWatch([SIGWINCH]) { _ in second.signal() }
            kill(getpid(), SIGWINCH)
            try #require(first.wait(timeout: .now() + .seconds(60)) == .success)
            try #require(second.wait(timeout: .now() + .seconds(60)) == .success)
            withExtendedLifetime(inner) {}
        }
        kill(getpid(), SIGWINCH)
        #expect(first.wait(timeout: .now() + .seconds(60)) == .success)
        #expect(second.wait(timeout: .now()) == .timedOut)
        withExtendedLifetime(outer) {}
    }

    @Test func `after the watch a signal has its default action again`() {
        _ = SignalWatch([SIGURG]) { _ in }
        var action = sigaction()
        sigaction(SIGURG, nil, &action)
        #expect(action.__sigaction_handler.sa_handler == nil)
    }
}
