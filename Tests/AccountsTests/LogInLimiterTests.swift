import Testing

@testable import Accounts

private let second: Int64 = 1_000_000_000

/// The result of an attempt.
private enum Outcome: Hashable {
    case fast, slow
    case refused(Int)
}

extension LogInLimiter {
    /// Makes an attempt that fails.
    fileprivate mutating func fail(
        _ name: String?, from network: RemoteNetwork, now: Int64
    ) -> Outcome {
        switch begin(name, from: network, now: now) {
        case .refused(let seconds): .refused(seconds)
        case .begun(let attempt): attempt.isSlow ? .slow : .fast
        }
    }

    /// Makes an attempt that succeeds.
    fileprivate mutating func succeed(
        _ name: String, from network: RemoteNetwork, now: Int64
    ) -> Outcome {
        switch begin(name, from: network, now: now) {
        case .refused(let seconds): return .refused(seconds)
        case .begun(let attempt):
            succeeded(attempt)
            return attempt.isSlow ? .slow : .fast
        }
    }
}

struct `A limiter of log-ins` {
    private let home = RemoteNetwork("192.0.2.1")

    /// A different network for each number.
    private func network(_ number: Int) -> RemoteNetwork {
        RemoteNetwork("10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)")
    }

    @Test func `allows five failures per name and address, then one every 12 seconds`() {
        var limiter = LogInLimiter()
        var now = 1_000 * second
        for _ in 0..<5 { #expect(limiter.fail("anna", from: home, now: now) == .fast) }
        #expect(limiter.fail("anna", from: home, now: now) == .refused(12))
        now += 11 * second
        #expect(limiter.fail("anna", from: home, now: now) == .refused(1))
        // Rounded up: a log-in after this time is admitted.
        now += second - 1
        #expect(limiter.fail("anna", from: home, now: now) == .refused(1))
        now += 1
        #expect(limiter.fail("anna", from: home, now: now) == .fast)
        #expect(limiter.fail("anna", from: home, now: now) == .refused(12))
        #expect(limiter.fail("ben", from: home, now: now) == .fast)
    }

    @Test func `does not refuse a name for failures from other addresses`() {
        var limiter = LogInLimiter()
        for index in 0..<2_000 {
            for _ in 0..<6 { _ = limiter.fail("anna", from: network(index), now: 0) }
        }
        #expect(limiter.fail("anna", from: network(0), now: 0) == .refused(12))
        #expect(limiter.succeed("anna", from: home, now: 0) == .slow)
        // From here she has been in.
        #expect(limiter.succeed("anna", from: home, now: 0) == .fast)
        #expect(limiter.fail("ben", from: network(2_001), now: 0) == .fast)
    }

    @Test func `slows a name after twenty failures from all addresses, for a time`() {
        var limiter = LogInLimiter()
        for index in 0..<20 {
            #expect(limiter.fail("anna", from: network(index), now: 0) == .fast)
        }
        for index in 20..<500 {
            #expect(limiter.fail("anna", from: network(index), now: 0) == .slow)
        }
        // Slow ones do not make it last longer.
        #expect(limiter.fail("anna", from: network(500), now: 12 * second - 1) == .slow)
        #expect(limiter.fail("anna", from: network(501), now: 12 * second) == .fast)
        #expect(limiter.fail("anna", from: network(502), now: 12 * second) == .slow)
        for index in 503..<523 {
            #expect(limiter.fail("anna", from: network(index), now: 252 * second) == .fast)
        }
        #expect(limiter.fail("anna", from: network(523), now: 252 * second) == .slow)
    }

    @Test func `limits a known address as any other`() {
        var limiter = LogInLimiter()
        #expect(limiter.succeed("anna", from: home, now: 0) == .fast)
        for _ in 0..<5 { #expect(limiter.fail("anna", from: home, now: 0) == .fast) }
        #expect(limiter.fail("anna", from: home, now: 0) == .refused(12))
    }

    @Test func `allows ten failures per address, then one every six seconds`() {
        var limiter = LogInLimiter()
        for index in 0..<10 {
            #expect(limiter.fail("user-\(index)", from: home, now: 0) == .fast)
        }
        #expect(limiter.fail("another", from: home, now: 0) == .refused(6))
        // Tokens have no name.
        #expect(limiter.fail(nil, from: home, now: 0) == .refused(6))
        #expect(limiter.fail(nil, from: home, now: 6 * second) == .fast)
        #expect(limiter.fail("another", from: network(1), now: 0) == .fast)
    }

    @Test func `does not count refused attempts`() {
        var limiter = LogInLimiter()
        for _ in 0..<5 { #expect(limiter.fail("anna", from: home, now: 0) == .fast) }
        for _ in 0..<1_000 { #expect(limiter.fail("anna", from: home, now: 0) == .refused(12)) }
        // The address has five of ten left, and the name is available again after its time.
        for index in 0..<5 {
            #expect(limiter.fail("user-\(index)", from: home, now: 0) == .fast)
        }
        #expect(limiter.fail("anna", from: home, now: 12 * second) == .fast)
    }

    @Test func `returns only what a success has taken`() {
        var limiter = LogInLimiter()
        for _ in 0..<4 { #expect(limiter.fail("anna", from: home, now: 0) == .fast) }
        for _ in 0..<100 { #expect(limiter.succeed("anna", from: home, now: 0) == .fast) }
        #expect(limiter.fail("anna", from: home, now: 0) == .fast)
        #expect(limiter.fail("anna", from: home, now: 0) == .refused(12))
        // A log-in between guesses does not permit more of them.
        var guesser = LogInLimiter()
        var guesses = 0
        for _ in 0..<100 {
            if guesser.fail("victim", from: home, now: 0) == .fast { guesses += 1 }
            _ = guesser.succeed("mallory", from: home, now: 0)
        }
        #expect(guesses == 5)
        // Nor does a slow success give the name a token that it has not taken.
        var slow = LogInLimiter()
        for index in 0..<20 { _ = slow.fail("anna", from: network(index), now: 0) }
        for index in 20..<40 {
            #expect(slow.succeed("anna", from: network(index), now: 0) == .slow)
        }
        #expect(slow.fail("anna", from: network(40), now: 0) == .slow)
    }

    @Test func `counts an IPv6 network as one address, and a mapped IPv4 address as itself`() {
        #expect(RemoteNetwork("2001:db8:1:2::1") == RemoteNetwork("2001:db8:1:2:ffff::9"))
        #expect(RemoteNetwork("2001:db8:1:2::1") != RemoteNetwork("2001:db8:1:3::1"))
        #expect(RemoteNetwork("::ffff:192.0.2.1") == home)
        #expect(RemoteNetwork("::ffff:192.0.2.1") != RemoteNetwork("::ffff:192.0.2.2"))
        #expect(RemoteNetwork("fe80::1%eth0") == RemoteNetwork("fe80::2%eth1"))
        #expect(RemoteNetwork("192.0.2.1") != RemoteNetwork("192.0.2.2"))
    }

    @Test(arguments: ["", "local", "192.0.2", "192.0.2.1\0", "192.0.2.1:80", "[::1]", ":", "%"])
    func `counts those without an address together`(text: String) {
        #expect(RemoteNetwork(text) == RemoteNetwork("unknown"))
        #expect(RemoteNetwork(text) != home)
    }
}

struct `A table of buckets` {
    private func table(_ capacity: Int) -> BucketTable<Int> {
        BucketTable(burst: 5, intervalNanoseconds: 12 * second, capacity: capacity)
    }

    @Test func `stays within its bounds`() {
        var table = table(100)
        for key in 0..<10_000 {
            table.take(key, now: Int64(key))
            #expect(table.count <= 100)
        }
    }

    @Test func `forgets full buckets first`() {
        var table = table(8)
        for key in 0..<7 { table.take(key, now: 0) }
        for _ in 0..<5 { table.take(7, now: 0) }
        table.take(8, now: 13 * second)
        #expect(table.count == 2)
        #expect(table.waitNanoseconds(7, now: 13 * second) == 0)
        table.take(7, now: 13 * second)
        #expect(table.waitNanoseconds(7, now: 13 * second) == 11 * second)
    }

    @Test func `does not forget an empty bucket for any number of others`() {
        var table = table(80)
        for _ in 0..<5 { table.take(-1, now: 0) }
        let wait = table.waitNanoseconds(-1, now: 0)
        #expect(wait == 12 * second)
        for key in 0..<5_000 { table.take(key, now: 0) }
        #expect(table.waitNanoseconds(-1, now: 0) == wait)
        // Four failures of each are not enough either.
        for key in 10_000..<11_000 {
            for _ in 0..<4 { table.take(key, now: 0) }
        }
        #expect(table.waitNanoseconds(-1, now: 0) == wait)
    }

    @Test func `returns nothing to an unknown bucket`() {
        var table = table(8)
        table.giveBack(1)
        #expect(table.count == 0)
        #expect(table.waitNanoseconds(1, now: 0) == 0)
        // Given back twice, by mistake: no more than a full one.
        table.take(1, now: 0)
        table.giveBack(1)
        table.giveBack(1)
        for _ in 0..<5 { table.take(1, now: 0) }
        #expect(table.waitNanoseconds(1, now: 0) == 12 * second)
    }
}
