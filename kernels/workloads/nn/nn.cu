// Distance of every record of a table of places to one place: the part of a search for the nearest ones that
// looks at all of them. One record a thread.

#include "warpfile.h"

extern "C" __global__ void distances(const float2 *places, float *distance, int records, float latitude,
                                     float longitude) {
    int record = blockIdx.x * blockDim.x + threadIdx.x;
    if (record < records) {
        float2 place = places[record];
        float north = place.x - latitude;
        float east = place.y - longitude;
        distance[record] = sqrtf(north * north + east * east);
    }
}
