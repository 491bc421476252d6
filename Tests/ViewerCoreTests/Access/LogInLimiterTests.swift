import Testing

@testable import ViewerCore

private let second: Int64 = 1_000_000_000

struct `A limiter of log-ins` {
    private let home = RemoteNetwork("192.0.2.1")

    /// A different network for each number.
    private func network(_ number: Int) -> RemoteNetwork {
        RemoteNetwork("10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)")
    }

    @Test func `lets five failures of a name pass, and one more every twelve seconds`() {
        var limiter = LogInLimiter()
        var now = 1_000 * second
        for index in 0..<5 {
            #expect(limiter.begin("anna", from: network(index), now: now) == nil)
        }
        #expect(limiter.begin("anna", from: network(5), now: now) == 12)
        now += 11 * second
        #expect(limiter.begin("anna", from: network(6), now: now) == 1)
        // Rounded up: who waits as long as is said gets in.
        now += second - 1
        #expect(limiter.begin("anna", from: network(7), now: now) == 1)
        now += 1
        #expect(limiter.begin("anna", from: network(8), now: now) == nil)
        #expect(limiter.begin("anna", from: network(9), now: now) == 12)
        #expect(limiter.begin("ben", from: network(9), now: now) == nil)
        now += 60 * second
        for index in 10..<15 {
            #expect(limiter.begin("anna", from: network(index), now: now) == nil)
        }
        #expect(limiter.begin("anna", from: network(15), now: now) == 12)
    }

    @Test func `lets ten failures of an address pass, and one more every six seconds`() {
        var limiter = LogInLimiter()
        for index in 0..<10 {
            #expect(limiter.begin("user-\(index)", from: home, now: 0) == nil)
        }
        #expect(limiter.begin("another", from: home, now: 0) == 6)
        // Tokens have no name.
        #expect(limiter.begin(nil, from: home, now: 0) == 6)
        #expect(limiter.begin(nil, from: home, now: 6 * second) == nil)
        #expect(limiter.begin("another", from: network(1), now: 0) == nil)
    }

    @Test func `does not count what it has refused`() {
        var limiter = LogInLimiter()
        for _ in 0..<5 { #expect(limiter.begin("anna", from: home, now: 0) == nil) }
        for _ in 0..<1_000 { #expect(limiter.begin("anna", from: home, now: 0) == 12) }
        // Five of ten are left of the address, and the name comes back after its time.
        for index in 0..<5 { #expect(limiter.begin("user-\(index)", from: home, now: 0) == nil) }
        #expect(limiter.begin("anna", from: home, now: 12 * second) == nil)
    }

    @Test func `gives back what a success has taken, and no more`() {
        var limiter = LogInLimiter()
        for _ in 0..<4 { #expect(limiter.begin("anna", from: home, now: 0) == nil) }
        for _ in 0..<100 {
            #expect(limiter.begin("anna", from: home, now: 0) == nil)
            limiter.giveBack("anna", from: home)
        }
        #expect(limiter.begin("anna", from: home, now: 0) == nil)
        #expect(limiter.begin("anna", from: home, now: 0) == 12)
        // Somebody who logs in between guesses does not get more of them.
        var guesser = LogInLimiter()
        var guesses = 0
        for _ in 0..<100 {
            if guesser.begin("victim", from: home, now: 0) == nil { guesses += 1 }
            if guesser.begin("mallory", from: home, now: 0) == nil {
                guesser.giveBack("mallory", from: home)
            }
        }
        #expect(guesses == 5)
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

    @Test func `forgets what is full first`() {
        var table = table(8)
        for key in 0..<7 { table.take(key, now: 0) }
        for _ in 0..<5 { table.take(7, now: 0) }
        table.take(8, now: 13 * second)
        #expect(table.count == 2)
        #expect(table.waitNanoseconds(7, now: 13 * second) == 0)
        table.take(7, now: 13 * second)
        #expect(table.waitNanoseconds(7, now: 13 * second) == 11 * second)
    }

    @Test func `does not forget one that is empty for any number of others`() {
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

    @Test func `gives nothing back to what is not there`() {
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
