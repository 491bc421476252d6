import Messaging
import Testing

/// A router on a free port and a dealer that is connected to it.
private struct Pair: ~Copyable {
    let context: Context
    let router: Socket
    let dealer: Socket

    init(options: SocketOptions = SocketOptions()) throws {
        let context = try Context()
        var routerOptions = options
        routerOptions.reportsUnreachablePeers = true
        let router = try Socket(.router, in: context, options: routerOptions)
        let dealer = try Socket(.dealer, in: context, options: options)
        try router.bind("tcp://127.0.0.1:*")
        try dealer.connect(try router.lastEndpoint())
        self.context = context
        self.router = router
        self.dealer = dealer
    }
}

/// Waits for a message; nil after ten seconds.
private func next(
    on socket: borrowing Socket, maximumParts: Int = 3
) throws -> ReceivedMessage? {
    var poller = Poller()
    let token = poller.add(socket)
    for _ in 0..<100 {
        _ = try poller.wait(milliseconds: 100)
        if poller.isReadable(token) { return try socket.receive(maximumParts: maximumParts) }
    }
    return nil
}

/// Waits for an event that `matches`: false after ten seconds.
private func sees(
    _ monitor: borrowing ConnectionMonitor, _ matches: (ConnectionEvent) -> Bool
) throws -> Bool {
    var poller = Poller()
    _ = poller.add(monitor)
    for _ in 0..<100 {
        _ = try poller.wait(milliseconds: 100)
        while let event = try monitor.nextEvent() {
            if matches(event) { return true }
        }
    }
    return false
}

struct `A message` {
    @Test func `arrives whole, with the peer's identity and address`() throws {
        let pair = try Pair()
        let payload = SharedBytes([UInt8](repeating: 7, count: 100_000))
        #expect(try pair.dealer.send(.bytes([1, 2, 3]), .shared(payload)) == .sent)
        let message = try #require(try next(on: pair.router))
        #expect(message.parts.count == 3)
        #expect(message.droppedParts == 0)
        #expect(message.parts[1].bytes == [1, 2, 3])
        #expect(message.parts[2].bytes == [UInt8](repeating: 7, count: 100_000))
        #expect(message.parts[1].metadata("Peer-Address") == "127.0.0.1")
        #expect(message.parts[1].metadata("No-Such-Property") == nil)
        #expect(
            try pair.router.send(.bytes(message.parts[0].bytes), .bytes([9])) == .sent)
        #expect(try next(on: pair.dealer)?.parts.map(\.bytes) == [[9]])
    }

    @Test func `with too many parts is truncated, and the rest counted`() throws {
        let pair = try Pair()
        let parts = (0..<7).map { OutgoingPart.bytes([$0]) }
        #expect(try pair.dealer.send(parts) == .sent)
        #expect(try pair.dealer.send(.bytes([42])) == .sent)
        let message = try #require(try next(on: pair.router))
        #expect(message.parts.dropFirst().map(\.bytes) == [[0], [1]])
        #expect(message.droppedParts == 5)
        #expect(message.wireBytes == 7 * 3)
        // The next one is unaffected.
        #expect(try next(on: pair.router)?.parts.last?.bytes == [42])
    }

    @Test func `can have empty parts`() throws {
        let pair = try Pair()
        #expect(try pair.dealer.send(.bytes([]), .shared(SharedBytes([]))) == .sent)
        let message = try #require(try next(on: pair.router))
        #expect(message.parts.dropFirst().map(\.count) == [0, 0])
    }

    @Test func `can be read after its socket and context are closed`() throws {
        var part: ReceivedPart?
        do {
            let pair = try Pair()
            _ = try pair.dealer.send(.bytes([UInt8](repeating: 5, count: 20_000)))
            part = try next(on: pair.router)?.parts.last
        }
        #expect(part?.bytes == [UInt8](repeating: 5, count: 20_000))
    }

    @Test func `is nil if none was sent`() throws {
        let pair = try Pair()
        #expect(try pair.router.receive(maximumParts: 3)?.parts.count == nil)
    }

    /// libzmq aborts the program if the connection breaks while a socket without linger is closed within a message.
    @Test func `need not have been sent when both ends are closed`() throws {
        let payload = SharedBytes([UInt8](repeating: 5, count: 50_000))
        for round in 0..<100 {
            var options = SocketOptions()
            options.sendQueue = 0
            let pair = try Pair(options: options)
            for _ in 0..<20 {
                _ = try pair.dealer.send(
                    .bytes([1]), .shared(payload), .bytes([2]), .shared(payload))
            }
            if round % 2 == 0 { _ = try next(on: pair.router) }
        }
    }

    @Test func `above the maximum size ends the connection`() throws {
        var options = SocketOptions()
        options.maximumPartBytes = 1_000
        let context = try Context()
        let router = try Socket(.router, in: context, options: options)
        try router.bind("tcp://127.0.0.1:*")
        let dealer = try Socket(.dealer, in: context)
        let monitor = try ConnectionMonitor(of: dealer, in: context)
        try dealer.connect(try router.lastEndpoint())
        _ = try dealer.send(.bytes([UInt8](repeating: 0, count: 1_001)))
        #expect(
            try sees(monitor) { if case .disconnected = $0 { true } else { false } })
        #expect(try router.receive(maximumParts: 3)?.parts.count == nil)
    }
}

struct `Shared bytes` {
    @Test func `are counted until nothing references them`() throws {
        let context = try Context()
        let one = try Socket(.pair, in: context)
        let other = try Socket(.pair, in: context)
        try one.bind("inproc://counted")
        try other.connect("inproc://counted")
        let held = HeldBytes()
        do {
            _ = try one.send(.counted(SharedBytes(Array(repeating: 1, count: 5_000)), held))
            #expect(held.count == 5_000)
            let part = try #require(try other.receive(maximumParts: 1)?.parts.first)
            let inside = part.withUnsafeBytes {
                UnsafeRawBufferPointer(rebasing: $0[1_000..<3_000])
            }
            _ = try one.send(.kept(inside, by: part, held))
            #expect(held.count == 7_000)
            let second = try #require(try other.receive(maximumParts: 1)?.parts.first)
            #expect(second.bytes == Array(repeating: 1, count: 2_000))
            withExtendedLifetime(part) {}
        }
        #expect(held.count == 0)
    }

    @Test func `are given back when libzmq has sent them`() throws {
        let pair = try Pair()
        weak var observed: SharedBytes?
        do {
            let payload = SharedBytes([UInt8](repeating: 1, count: 50_000))
            observed = payload
            for _ in 0..<3 { #expect(try pair.dealer.send(.shared(payload)) == .sent) }
        }
        for _ in 0..<3 { #expect(try next(on: pair.router)?.parts.last?.count == 50_000) }
        // libzmq releases it on its own thread, soon afterwards.
        var poller = Poller()
        for _ in 0..<1_000 where observed != nil { _ = try poller.wait(milliseconds: 10) }
        #expect(observed == nil)
    }

    @Test func `are released if they cannot be sent`() throws {
        weak var observed: SharedBytes?
        do {
            let context = try Context()
            var options = SocketOptions()
            options.sendsOnlyWhenConnected = true
            let dealer = try Socket(.dealer, in: context, options: options)
            try dealer.connect("tcp://127.0.0.1:1")
            let payload = SharedBytes([1, 2, 3])
            observed = payload
            #expect(try dealer.send(.shared(payload)) == .wouldBlock)
        }
        #expect(observed == nil)
    }

    @Test func `contain the bytes of their initialiser`() {
        let bytes = SharedBytes(count: 4) { $0.copyBytes(from: [9, 8, 7, 6]) }
        #expect(bytes.withUnsafeBytes { Array($0) } == [9, 8, 7, 6])
    }
}

struct `Sending` {
    @Test func `to an unknown peer is unreachable`() throws {
        let pair = try Pair()
        #expect(
            try pair.router.send(.bytes([0, 1, 2, 3]), .bytes([1])) == .unreachable)
    }

    @Test func `to a full queue fails, and sends no part`() throws {
        let context = try Context()
        var options = SocketOptions()
        options.sendQueue = 3
        let dealer = try Socket(.dealer, in: context, options: options)
        try dealer.connect("tcp://127.0.0.1:1")
        var results: [Socket.SendResult] = []
        for _ in 0..<5 { results.append(try dealer.send(.bytes([1]), .bytes([2]))) }
        #expect(results.filter { $0 == .sent }.count < 5)
        #expect(results.last == .wouldBlock)
    }
}

struct `An endpoint` {
    @Test func `that is in use is named in the error`() throws {
        let context = try Context()
        let first = try Socket(.router, in: context)
        try first.bind("tcp://127.0.0.1:*")
        let endpoint = try first.lastEndpoint()
        let second = try Socket(.router, in: context)
        #expect(throws: MessagingError.addressInUse(endpoint: endpoint)) {
            try second.bind(endpoint)
        }
    }

    @Test(arguments: ["", "127.0.0.1:5550", "http://127.0.0.1:5550", "tcp://127.0.0.1", "tcp://"])
    func `that is invalid is named in the error`(endpoint: String) throws {
        let socket = try Socket(.router, in: try Context())
        #expect(throws: MessagingError.invalidEndpoint(endpoint)) { try socket.bind(endpoint) }
    }

    @Test func `of another machine is named in the error`() throws {
        let socket = try Socket(.router, in: try Context())
        let endpoint = "tcp://192.0.2.1:5550"
        #expect(throws: MessagingError.addressNotAvailable(endpoint: endpoint)) {
            try socket.bind(endpoint)
        }
    }
}

struct `A monitor` {
    @Test func `sees a connection come and go`() throws {
        let context = try Context()
        var router: Socket? = try Socket(.router, in: context)
        try router?.bind("tcp://127.0.0.1:*")
        let endpoint = try router?.lastEndpoint() ?? ""
        let dealer = try Socket(.dealer, in: context)
        let monitor = try ConnectionMonitor(of: dealer, in: context)
        try dealer.connect(endpoint)
        #expect(try sees(monitor) { $0 == .connected(endpoint: endpoint) })
        #expect(try sees(monitor) { $0 == .ready(endpoint: endpoint) })
        router = nil
        #expect(
            try sees(monitor) {
                if case .disconnected(endpoint, _) = $0 { true } else { false }
            })
        #expect(
            try sees(monitor) { if case .retrying = $0 { true } else { false } })
    }

    @Test func `can be closed before its socket, whose connections stay`() throws {
        let pair = try Pair()
        do {
            let monitor = try ConnectionMonitor(of: pair.dealer, in: pair.context)
            _ = try monitor.nextEvent()
        }
        #expect(try pair.dealer.send(.bytes([1])) == .sent)
        #expect(try next(on: pair.router)?.parts.last?.bytes == [1])
    }
}

struct `A poller` {
    @Test func `returns when another thread wakes it`() throws {
        let wakeUp = try WakeUp()
        var poller = Poller()
        let token = poller.add(descriptor: wakeUp.descriptor)
        var isReady = try poller.wait(milliseconds: 0)
        #expect(!isReady)
        wakeUp.signal()
        wakeUp.signal()
        isReady = try poller.wait(milliseconds: nil)
        #expect(isReady)
        let isReadable = poller.isReadable(token)
        #expect(isReadable)
        #expect(wakeUp.drain())
        #expect(!wakeUp.drain())
        isReady = try poller.wait(milliseconds: 0)
        #expect(!isReady)
    }

    @Test func `serves other sockets while one is never empty`() throws {
        let pair = try Pair()
        let monitor = try ConnectionMonitor(of: pair.router, in: pair.context)
        let wakeUp = try WakeUp()
        var poller = Poller()
        let (full, events) = (poller.add(pair.router), poller.add(monitor))
        let wishes = poller.add(descriptor: wakeUp.descriptor)
        #expect(try pair.dealer.send(.bytes([1])) == .sent)
        // Until only the unreceived message's event remains.
        repeat {
            _ = try poller.wait(milliseconds: 10_000)
            while try monitor.nextEvent() != nil {}
        } while !poller.isReadable(full) || poller.isReadable(events)
        let another = try Socket(.dealer, in: pair.context, options: SocketOptions())
        try another.connect(try pair.router.lastEndpoint())
        wakeUp.signal()
        let deadline = ContinuousClock.now + .seconds(10)
        var isSeen = (event: false, wish: false)
        while !(isSeen.event && isSeen.wish), ContinuousClock.now < deadline {
            _ = try poller.wait(milliseconds: 10)
            let isStillFull = poller.isReadable(full)
            #expect(isStillFull)
            isSeen.event = isSeen.event || poller.isReadable(events)
            isSeen.wish = isSeen.wish || poller.isReadable(wishes)
        }
        #expect(isSeen.event && isSeen.wish)
    }

    @Test func `reports that a socket can send`() throws {
        let pair = try Pair()
        var poller = Poller()
        let token = poller.add(pair.dealer, forSending: true)
        let isReady = try poller.wait(milliseconds: 10_000)
        #expect(isReady)
        let (isWritable, isReadable) = (poller.isWritable(token), poller.isReadable(token))
        #expect(isWritable && !isReadable)
    }
}
