# cmake -DIN=flame.js -DOUT=flame_js.c -DNAME=flame_js -P embed.cmake: the bytes of IN as a C array.
file(READ ${IN} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR len "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n"
    bytes "${bytes}")
# The SHA-256 of IN in base64, as content security policies want it: 32 bytes, and one of nought to fill the last three.
file(SHA256 ${IN} hash)
string(APPEND hash "00")
set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
set(base64 "")
foreach(from RANGE 0 60 6)
    string(SUBSTRING ${hash} ${from} 6 three)
    foreach(shift 18 12 6 0)
        math(EXPR at "(0x${three} >> ${shift}) & 63")
        string(SUBSTRING ${alphabet} ${at} 1 letter)
        string(APPEND base64 ${letter})
    endforeach()
endforeach()
string(SUBSTRING ${base64} 0 43 base64)
file(WRITE ${OUT} "#include \"render/page/assets.h\"\n
static const char data[] = {\n${bytes}0};
const struct gp_asset gp_asset_${NAME} = {data, ${len}, \"${base64}=\"};\n")
