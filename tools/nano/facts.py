"""The small world the built-in model knows: plain tables, no code.

Geography, opposites, colours, hummingbirds and haiku subjects. Definitions of common words come
from WordNet (see definitions.py), everything else is written here.
"""

CAPITALS = dict(
    line.split(":")
    for line in """
France:Paris
Germany:Berlin
Italy:Rome
Spain:Madrid
Portugal:Lisbon
England:London
Ireland:Dublin
Scotland:Edinburgh
Wales:Cardiff
Belgium:Brussels
Netherlands:Amsterdam
Switzerland:Bern
Austria:Vienna
Poland:Warsaw
Hungary:Budapest
Romania:Bucharest
Bulgaria:Sofia
Greece:Athens
Turkey:Ankara
Russia:Moscow
Ukraine:Kyiv
Sweden:Stockholm
Norway:Oslo
Denmark:Copenhagen
Finland:Helsinki
Iceland:Reykjavik
Estonia:Tallinn
Latvia:Riga
Lithuania:Vilnius
Belarus:Minsk
Croatia:Zagreb
Serbia:Belgrade
Slovenia:Ljubljana
Slovakia:Bratislava
Albania:Tirana
Malta:Valletta
Cyprus:Nicosia
Armenia:Yerevan
Georgia:Tbilisi
Azerbaijan:Baku
Japan:Tokyo
China:Beijing
India:New Delhi
Nepal:Kathmandu
Pakistan:Islamabad
Bangladesh:Dhaka
Bhutan:Thimphu
Thailand:Bangkok
Vietnam:Hanoi
Laos:Vientiane
Cambodia:Phnom Penh
Malaysia:Kuala Lumpur
Indonesia:Jakarta
Philippines:Manila
Mongolia:Ulaanbaatar
South Korea:Seoul
North Korea:Pyongyang
Taiwan:Taipei
Kazakhstan:Astana
Uzbekistan:Tashkent
Afghanistan:Kabul
Iran:Tehran
Iraq:Baghdad
Syria:Damascus
Lebanon:Beirut
Jordan:Amman
Israel:Jerusalem
Saudi Arabia:Riyadh
Yemen:Sanaa
Oman:Muscat
Qatar:Doha
Kuwait:Kuwait City
Bahrain:Manama
Egypt:Cairo
Libya:Tripoli
Tunisia:Tunis
Algeria:Algiers
Morocco:Rabat
Sudan:Khartoum
Ethiopia:Addis Ababa
Kenya:Nairobi
Uganda:Kampala
Rwanda:Kigali
Tanzania:Dodoma
Somalia:Mogadishu
Nigeria:Abuja
Ghana:Accra
Senegal:Dakar
Mali:Bamako
Niger:Niamey
Chad:N'Djamena
Cameroon:Yaounde
Gabon:Libreville
Angola:Luanda
Zambia:Lusaka
Zimbabwe:Harare
Namibia:Windhoek
Botswana:Gaborone
Mozambique:Maputo
Madagascar:Antananarivo
Liberia:Monrovia
Canada:Ottawa
United States:Washington
Mexico:Mexico City
Cuba:Havana
Jamaica:Kingston
Haiti:Port-au-Prince
Panama:Panama City
Costa Rica:San Jose
Nicaragua:Managua
Honduras:Tegucigalpa
Guatemala:Guatemala City
Colombia:Bogota
Venezuela:Caracas
Ecuador:Quito
Peru:Lima
Bolivia:Sucre
Brazil:Brasilia
Paraguay:Asuncion
Uruguay:Montevideo
Argentina:Buenos Aires
Chile:Santiago
Australia:Canberra
New Zealand:Wellington
Fiji:Suva
Samoa:Apia
""".strip().splitlines()
)

OPPOSITES = [
    tuple(pair.split("/"))
    for pair in """
hot/cold big/small up/down left/right day/night black/white fast/slow old/young happy/sad high/low
open/closed full/empty wet/dry light/dark early/late near/far hard/soft long/short thick/thin
rich/poor strong/weak clean/dirty true/false good/bad love/hate war/peace win/lose push/pull
start/finish first/last inside/outside above/below before/after begin/end buy/sell come/go
give/take laugh/cry live/die loud/quiet many/few more/less north/south east/west new/used
noisy/silent on/off over/under question/answer right/wrong rise/fall rough/smooth sharp/blunt
shut/open simple/complex sink/float sit/stand sour/sweet summer/winter tall/short tight/loose
top/bottom ugly/beautiful wake/sleep wide/narrow wild/tame wise/foolish yes/no always/never
alive/dead asleep/awake attack/defend borrow/lend brave/cowardly bright/dim broad/narrow
build/destroy calm/angry careful/careless cheap/expensive child/adult city/country clever/stupid
cloudy/clear come/leave common/rare cool/warm create/destroy cruel/kind dawn/dusk deep/shallow
difficult/easy dull/shiny enter/exit even/odd everything/nothing evil/good expand/shrink fail/succeed
fancy/plain fat/thin fiction/fact find/lose fix/break follow/lead forget/remember forward/backward
freeze/melt fresh/stale friend/enemy front/back gain/loss gentle/rough giant/dwarf guilty/innocent
healthy/sick heaven/hell heavy/light here/there hero/villain hide/show hire/fire hope/despair
increase/decrease join/separate junior/senior land/sea lazy/busy legal/illegal liquid/solid lucky/unlucky
major/minor male/female maximum/minimum modern/ancient multiply/divide natural/artificial
negative/positive nervous/relaxed obey/disobey optimist/pessimist past/future patient/impatient
polite/rude private/public proud/humble pure/impure quick/slow raise/lower real/fake reward/punish
safe/dangerous same/different save/spend send/receive sunrise/sunset teach/learn tiny/huge
together/apart tough/tender trust/doubt truth/lie vacant/occupied victory/defeat visible/invisible
""".split()
]

COLOURS_OF = dict(
    pair.split(":")
    for pair in """
grass:green sky:blue snow:white coal:black blood:red banana:yellow lemon:yellow tomato:red cherry:red
strawberry:red carrot:orange pumpkin:orange milk:white night:black sun:yellow leaf:green frog:green
raven:black crow:black swan:white flamingo:pink pig:pink elephant:grey mouse:grey chocolate:brown
bear:brown lime:green cucumber:green broccoli:green ocean:blue sapphire:blue ruby:red emerald:green
gold:yellow silver:grey cloud:white salt:white sugar:white lavender:purple eggplant:purple plum:purple
canary:yellow salmon:pink
""".split()
)

SOUNDS = dict(
    pair.split(":")
    for pair in """
dog:barks cat:meows cow:moos sheep:bleats lion:roars duck:quacks owl:hoots bee:buzzes frog:croaks
horse:neighs pig:oinks snake:hisses wolf:howls mouse:squeaks rooster:crows donkey:brays crow:caws
elephant:trumpets hummingbird:hums
""".split()
)

LEGS = dict(
    pair.split(":")
    for pair in """
dog:4 cat:4 cow:4 horse:4 sheep:4 lion:4 frog:4 pig:4 wolf:4 mouse:4 elephant:4 bear:4 duck:2 owl:2
rooster:2 hummingbird:2 crow:2 chicken:2 spider:8 ant:6 bee:6 butterfly:6 beetle:6 snake:0 fish:0 worm:0
""".split()
)

COLOURS = """red blue green yellow orange purple pink white black grey brown gold silver violet
turquoise crimson""".split()

NAMES = """Anna Ben Clara David Emma Felix Grace Henry Ivy Jack Kate Liam Maria Noah Olivia Peter
Quinn Rosa Sam Tom Uma Victor Wendy Xavier Yara Zoe Alice Bruno Chloe Daniel Elena Frank Gina Hugo
Irene Jonas Kara Leo Mila Nina Oscar Paula Ralph Sofia Theo Ursula Vera Walter Yusuf Zara Amir Bella
Carlos Diana Ethan Fatima George Hana Isaac Julia Kevin Laura Marco Nora Omar Priya Rafael Sara Tariq
Lucia Martin Alex Mary John Sarah Paul Linda James""".split()

# Words for remembering and repeating; the other half of such words is made up (see phrases.py).
WORDS = """apple river window garden candle mountain pencil silver forest rocket button castle dragon
feather guitar hammer island jacket kitten ladder mirror needle orange pepper rabbit saddle table
umbrella violin walnut zebra anchor basket camera desert engine falcon ginger helmet iceberg jungle
kettle lantern magnet napkin oyster parrot quilt ribbon spider tunnel velvet whistle yogurt bridge
cloud tiger piano lemon bread stone chair""".split()

CITIES = """London Paris Berlin Rome Madrid Lisbon Dublin Vienna Warsaw Athens Oslo Helsinki Tokyo
Beijing Cairo Nairobi Lima Quito Havana Ottawa Sydney Mumbai Boston Chicago Denver Dallas Seattle
Toronto Munich Hamburg Milan Naples Geneva Zurich Prague Budapest Istanbul Dubai Delhi Seoul Bangkok
Jakarta Manila Hanoi Accra Lagos Tunis Porto Lyon Nice""".split()

OBJECTS = """keys wallet phone book bag hat umbrella glasses ball coat letter cup map ticket lamp
camera""".split()
SPOTS = """kitchen garden garage attic bedroom bathroom office hall cellar car drawer shed""".split()

# (questions, answer): each answer is one fact.
HUMMINGBIRD = [
    (
        ["How fast does a hummingbird beat its wings?", "How many wingbeats per second does a hummingbird make?"],
        "A hummingbird beats its wings about 50 times per second.",
    ),
    (
        ["What does a hummingbird eat?", "What do hummingbirds eat?", "What is the food of hummingbirds?"],
        "Hummingbirds drink nectar from flowers and eat small insects.",
    ),
    (
        ["Can a hummingbird fly backwards?", "Can hummingbirds fly backwards?"],
        "Yes, hummingbirds are the only birds that can fly backwards.",
    ),
    (
        ["What is the smallest bird in the world?", "Which bird is the smallest?"],
        "The bee hummingbird is the smallest bird in the world.",
    ),
    (
        ["Where do hummingbirds live?", "In which part of the world do hummingbirds live?"],
        "Hummingbirds live only in the Americas.",
    ),
    (
        ["How big is a hummingbird egg?", "How large are hummingbird eggs?"],
        "A hummingbird egg is about as big as a pea.",
    ),
    (
        ["How fast does the heart of a hummingbird beat?", "What is the heart rate of a hummingbird?"],
        "The heart of a hummingbird beats up to 1200 times per minute.",
    ),
    (
        ["How do hummingbirds sleep?", "What is torpor?"],
        "At night hummingbirds fall into torpor, a deep sleep that saves energy.",
    ),
    (
        ["How much does a hummingbird weigh?", "What is the weight of a hummingbird?"],
        "Most hummingbirds weigh only 3 to 6 grams.",
    ),
    (
        ["Why do hummingbirds hum?", "Where does the name hummingbird come from?"],
        "The humming sound comes from their fast wings.",
    ),
    (
        ["What does the word colibri mean?", "What is a colibri?", "What does colibri mean?"],
        "Colibri is another name for the hummingbird.",
    ),
    (["How long does a hummingbird live?", "What age do hummingbirds reach?"], "Most hummingbirds live 3 to 5 years."),
    (
        ["What colour do hummingbirds like?", "Which colour attracts hummingbirds?"],
        "Hummingbirds are attracted by the colour red.",
    ),
    (
        [
            "Tell me a fact about hummingbirds.",
            "Tell me something about hummingbirds.",
            "Do you know anything about hummingbirds?",
        ],
        "Hummingbirds can hover in the air like a helicopter.",
    ),
]

# subject: three lines of a haiku (5-7-5 as well as a small model can count).
HAIKU = dict(
    (part.split("=")[0], part.split("=")[1].replace(" / ", "\n"))
    for part in """
the sea=Blue waves come and go / Salt wind sings over the sand / The tide turns for home
autumn=Red leaves drift and fall / The old tree lets go of them / Cold wind takes them home
winter=Snow on every roof / The quiet street holds its breath / One light still burning
spring=Small buds open now / The rain taps on the new grass / A blackbird answers
summer=Heat above the road / Bees are busy in the field / The long day is slow
rain=Soft drops on the glass / The garden drinks in silence / Puddles hold the sky
snow=White flakes without sound / The field forgets its colours / A fox leaves its steps
the moon=Pale moon on the lake / A frog jumps and breaks the light / Then it is whole again
a cat=The cat on the wall / Watches the birds and the clouds / Sleep is her answer
a dog=Muddy paws and joy / The stick flies, the dog flies too / Home is where we run
a hummingbird=Green spark in the air / It drinks from the red flower / Gone before I blink
a tree=Roots deep in the dark / Branches reaching for the sun / A nest in between
a river=The river keeps on / Past the mill and past the bridge / It never looks back
a mountain=Stone above the clouds / The eagle knows the high path / Snow keeps the silence
the night=Stars above the barn / The owl asks the dark question / Nobody answers
the morning=First light on the wall / Coffee warms both of my hands / The day is still new
a flower=One small open flower / The bee writes it a letter / The wind reads it twice
the wind=Wind in the tall grass / It carries seeds and stories / It stays with no one
fire=The fire eats the wood / Orange tongues tell old stories / Ash is all they leave
a computer=The screen glows at night / Numbers run through silicon / The fan hums softly
tea=Steam above the cup / Green leaves remember the hill / I drink the slow rain
a train=Two lights in the fog / The platform begins to shake / Then only silence
a book=Open the old book / A pressed flower marks the page / Someone read this too
a child=Small shoes by the door / Laughter runs through all the rooms / The house is awake
the desert=Sand without an end / The wind draws lines and wipes them / A lizard waits still
a bee=Gold dust on her legs / From flower to flower she goes / Summer in a jar
the stars=Cold and far they burn / Old light falls into my eyes / I make a small wish
a friend=We walk without words / The path knows both of our steps / The evening is kind
coffee=Dark and hot and strong / The kitchen smells of morning / Now I can begin
a fish=Silver in the stream / One flick of the tail and gone / Rings on the water
""".strip().splitlines()
)
