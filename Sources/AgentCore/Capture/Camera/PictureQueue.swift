import Devices
import Media

/// A queue of a camera's pictures before the encoder. A value without clock and thread.
///
/// If it is full, the driver's buffers are not emptied, and the driver drops new pictures, which its sequence numbers show.
/// Queued pictures are never dropped.
struct PictureQueue {
    enum Item {
        case picture(CameraPicture)
        /// The camera has failed: no pictures follow.
        case failure(DeviceError)
    }

    /// Maximum memory: 5 s of 1280×720 at 30 fps in YUV 4:2:0 are 207 MB. Fewer pictures are queued if they are larger.
    static let mostBytes = 256_000_000

    /// Number of pictures in the maximum delay.
    let mostPictures: Int
    private(set) var sizeBytes = 0
    private var items: [Item?] = []
    /// Index of the oldest picture; earlier entries have been removed.
    private var head = 0

    /// - Parameter rate: frame rate of the camera.
    init(rate: FrameRate) {
        mostPictures = max(
            1,
            Int(clamping: rate.pictures(inNanoseconds: LatePolicy.keep.patienceNanoseconds)))
    }

    var count: Int { items.count - head }

    /// Whether another picture is accepted; the last one may exceed the byte limit.
    var hasRoom: Bool { count < mostPictures && sizeBytes < Self.mostBytes }

    mutating func put(_ item: Item) {
        items.append(item)
        sizeBytes += item.sizeBytes
    }

    /// Removes the oldest picture; nil if the queue is empty.
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
