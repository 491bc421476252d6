import NIOCore

/// Datagrams for one reader. A keyframe may have thousands: sent at once, they would not fit into the receive buffer of the reader's
/// socket, which usually has 208 KiB.
struct DatagramQueue {
    typealias Datagram = AddressedEnvelope<ByteBuffer>

    /// Datagrams that are sent together: the reports first.
    struct Group {
        var reports: [Datagram] = []
        var packets: [Datagram] = []
    }

    /// Pause between two portions.
    static let pause = TimeAmount.milliseconds(2)
    /// Size of a portion: 130 Mbit/s with these pauses.
    private static let portionBytes = 32 << 10
    /// A longer queue is sent in larger portions, so that faster streams are not delayed more and more.
    private static let portions = 64

    private var groups: ArraySlice<Group> = []
    private var bytes = 0

    var isEmpty: Bool { groups.isEmpty }

    mutating func add(_ group: Group) {
        guard !group.reports.isEmpty || !group.packets.isEmpty else { return }
        groups.append(group)
        bytes += group.packets.reduce(0) { $0 + $1.data.readableBytes }
    }

    /// Removes the next portion, at least one datagram.
    mutating func takePortion() -> [Group] {
        var room = max(Self.portionBytes, bytes / Self.portions)
        var portion: [Group] = []
        while room > 0, let next = groups.first {
            var count = 0
            while count < next.packets.count, room > 0 {
                room -= next.packets[count].data.readableBytes
                count += 1
            }
            let packets = next.packets.prefix(count)
            bytes -= packets.reduce(0) { $0 + $1.data.readableBytes }
            portion.append(Group(reports: next.reports, packets: Array(packets)))
            if count == next.packets.count {
                groups.removeFirst()
            } else {
                groups[groups.startIndex] = Group(packets: Array(next.packets.dropFirst(count)))
            }
        }
        return portion
    }

    mutating func removeAll() { self = DatagramQueue() }
}
