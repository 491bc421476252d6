import Media
import Testing

@testable import Wire

/// A box that keeps many spools until release greets with each of them before the current one.
@Suite struct ManySpoolsTests {
    @Test func `received records are remembered after many other spools of the source`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        for spool in 2...12 as ClosedRange<UInt8> {
            collector.send(.hello(Fixtures.hello(spool: spool)), from: 1)
        }
        _ = collector.takeSent()
        collector.send(.hello(Fixtures.hello()))
        // Otherwise it would be sent again, and recorded twice.
        #expect(collector.takeState()?.received == 3)
    }
}
