import Devices
import Media

/// A camera's pictures that wait for the encoder, in their order. A value without a clock and without a thread.
///
/// When it is full nothing is taken from the driver any more, so that its buffers fill, and it counts what it leaves out: what is
/// missing is what was captured last, and nothing that waited is thrown away.
struct PictureQueue {
    enum Item {
        case picture(CameraPicture)
        /// The camera has failed: nothing follows.
        case failure(DeviceError)
    }

    /// What waits is in the agent's memory, and a camera box is small: 5 s of 1280×720 at 30 per second in YUV 4:2:0 are 207 MB. Of
    /// larger pictures, fewer wait.
    static let mostBytes = 256_000_000

    /// As many as the camera gives in the time that they may wait for.
    let mostPictures: Int
    private(set) var sizeBytes = 0
    private var items: [Item?] = []
    /// Where the oldest is; what lies before it has been taken.
    private var head = 0

    /// - Parameter rate: at which the camera gives pictures.
    init(rate: FrameRate) {
        mostPictures = max(
            1,
            Int(clamping: rate.pictures(inNanoseconds: LatePolicy.keep.patienceNanoseconds)))
    }

    var count: Int { items.count - head }

    /// Whether one more may be put in; the last one may be larger than what is left of the bytes.
    var hasRoom: Bool { count < mostPictures && sizeBytes < Self.mostBytes }

    mutating func put(_ item: Item) {
        items.append(item)
        sizeBytes += item.sizeBytes
    }

    /// The oldest; nil when there is none.
    mutating func take() -> Item? {
        guard head < items.count, let item = items[head] else { return nil }
        items[head] = nil
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head > mostPictures {
            items.removeFirst(head)
            head = 0
        }
        sizeBytes -= item.sizeBytes
        return item
    }
}

extension PictureQueue.Item {
    fileprivate var sizeBytes: Int {
        switch self {
        case .picture(let picture): picture.bytes.count + picture.spareBytes
        case .failure: 0
        }
    }
}
